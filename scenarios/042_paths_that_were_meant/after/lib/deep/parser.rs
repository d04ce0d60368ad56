fn parse() {}
