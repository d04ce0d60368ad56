fn handled() {}
