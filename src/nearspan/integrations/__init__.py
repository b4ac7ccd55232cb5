"""nearspan inside other tools: one file a tool, each a thin translation between its shapes and ours."""
