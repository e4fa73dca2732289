"""One frozen Settings tree: flag > PERSEID_… > file > default."""
