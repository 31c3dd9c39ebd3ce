"""What a shell command did to files, from its text, its outcome and the files known before."""
