// Command hello is the floor for processes: what starting any Go program costs.
package main

import "fmt"

func main() {
	fmt.Println("hello, world")
}
