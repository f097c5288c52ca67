package claudecode

// CommandFile is what the golden files of the plugin are made with.
var CommandFile = commandFile

// HooksFile lets the tests of the plugin's files compare and write them.
var HooksFile = hooksFile

// BehindIn is the host's Behind with another folder for an administrator's settings.
var BehindIn = behind
