"""Small trained networks of choice, hop and order: their named features, and the scores of options."""
