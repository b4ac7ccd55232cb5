"""nearspan as a guest of other tools: each in a module of its own, behind an extra, imported when it is asked for."""
