"""Public recordings: where they are published, fetched by git, and labels without words."""
