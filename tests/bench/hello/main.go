// Command hello is the floor for processes: the cost of starting any Go program.
package main

import "fmt"

func main() {
	fmt.Println("hello, world")
}
