"""What the evidence means: one module for each part of a summary.

Pure functions from a `Story` to values of `findings`. Everything that needs before and after
is decided here: outcomes, branches, repeats, the current stage, the state of files.
"""
