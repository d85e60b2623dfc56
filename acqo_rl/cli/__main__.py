"""``python -m acqo_rl.cli COMMAND``: for launchers of several processes, such as ``accelerate launch -m``."""

from acqo_rl.cli import main

main()
