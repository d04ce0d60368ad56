fn handle() {}
