"""What the evidence means: one module for each part of a summary."""
