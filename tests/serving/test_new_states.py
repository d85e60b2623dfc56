"""A service opens the new state of an index without a restart."""

import time

import httpx
from serving_stand_ins import post, running
from shared import PLACES

from acqo_rl.cli.index import BuildIndexConfig, main
from acqo_rl.data.beir import write_beir
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.serving.app import make_app
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.load import ServiceSettings, load_service
from acqo_rl.serving.service import Service
from acqo_rl.types import Document


def documents(*names):
    return [Document(name.lower(), name, f"{PLACES[name]} is the capital of {name}.") for name in names]


def test_a_service_opens_the_new_state_of_an_index(tmp_path, monkeypatch):
    watch = Service.watch
    monkeypatch.setattr(Service, "watch", lambda self, reopen: watch(self, reopen, 0.05))
    config = BuildIndexConfig(data=str(tmp_path / "data"), output=str(tmp_path / "index"), kind="bm25")
    write_beir(tmp_path / "data", documents("Peru", "Chad"), [], {})
    main(config)
    settings = ServiceSettings(
        collections=[f"world={tmp_path}/data,{tmp_path}/index"], strategies=["auto", "rules", "raw"]
    )
    service = load_service(settings, StrategySettings())

    def found(client, strategy):
        answer = post(client, query="capital of Norway and capital of Peru", rewriting_strategy=strategy)
        assert answer.status_code == 200, answer.text
        return {result["document_id"] for result in answer.json()["results"]}

    with running(make_app(service, Limits())) as url, httpx.Client(base_url=url, timeout=20) as client:
        assert all(found(client, strategy) == {"peru", "chad"} for strategy in ("auto", "rules", "raw"))
        write_beir(tmp_path / "data", documents("Peru", "Norway"), [], {})
        assert found(client, "raw") == {"peru", "chad"}
        config.update = True
        main(config)
        end = time.monotonic() + 20
        while found(client, "raw") != {"peru", "norway"}:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert all(found(client, strategy) == {"peru", "norway"} for strategy in ("auto", "rules"))
        assert client.get("/readyz").status_code == 200
