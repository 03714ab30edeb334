"""Write this server and its hooks into the settings of coding agents, and take out again exactly that."""
