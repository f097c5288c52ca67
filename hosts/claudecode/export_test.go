package claudecode

// CommandFile is what the golden files of the plugin are made with.
var CommandFile = commandFile
