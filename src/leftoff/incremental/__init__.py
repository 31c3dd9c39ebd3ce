"""Reading only what is new of a growing file."""
