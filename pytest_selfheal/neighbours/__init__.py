"""Does a patch that passes its tests know more than their inputs? It is asked about others beside them."""
