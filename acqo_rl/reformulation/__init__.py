"""Every way of turning a query into what is searched."""
