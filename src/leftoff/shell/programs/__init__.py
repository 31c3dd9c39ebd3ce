"""Effects of programs on files, by handler.

A handler takes the state of the walk and the arguments of one program, called `walk` and
`args`; it applies the program's file operations and returns its status."""
