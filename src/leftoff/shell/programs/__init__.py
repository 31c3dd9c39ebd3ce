"""Effects of programs on files, by handler.

A handler takes the interpreter, called `shell`, and the arguments of one program, called
`args`; it applies the program's file operations and returns its status.
"""
