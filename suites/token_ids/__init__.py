"""Token ids: what their numbers mean, how text becomes ids, and how fine the pieces are."""
