package hosts

import "strings"

// Certificates is the variable that names a file of certificates to trust.
const Certificates = "SSL_CERT_FILE"

// The variables by which programs reach the network.
var (
	Proxies   = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"}
	NoProxies = []string{"NO_PROXY", "no_proxy"} // hosts that are reached without a proxy
)

// NetworkOf returns the variables by which requests reach the network, each with its value.
func NetworkOf(getenv func(string) string) map[string]string {
	network := map[string]string{}
	for _, names := range [][]string{Proxies, NoProxies, {"NODE_EXTRA_CA_CERTS", Certificates, "SSL_CERT_DIR"}} {
		for _, name := range names {
			network[name] = getenv(name)
		}
	}
	return network
}

// PastProxies returns the variables, NAME=value, with which a program reaches 127.0.0.1 without a
// proxy; none if it has no proxy.
func PastProxies(getenv func(string) string) (environ []string) {
	proxied := false
	for _, name := range Proxies {
		proxied = proxied || getenv(name) != ""
	}
	for i, name := range NoProxies {
		value := strings.TrimSpace(getenv(name))
		if proxied && value != "*" && (value != "" || i == 0) {
			environ = append(environ, name+"="+strings.TrimPrefix(value+",127.0.0.1", ","))
		}
	}
	return environ
}
