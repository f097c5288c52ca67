package claudecode

// CommandFile is what the golden files of the plugin are made with.
var CommandFile = commandFile

// HooksFile lets the tests of the plugin's files compare and write them.
var HooksFile = hooksFile

// Marketplace and MarketplaceFile are for the repository's own marketplace.
var Marketplace = marketplace

// MarketplaceFile is its name.
const MarketplaceFile = marketplaceFile

// BehindIn is the host's PlanGatewayLaunch with another folder for an administrator's settings.
var BehindIn = behind
