// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A server whose connections have a goroutine each: served PORT. The words of a line: "get" answers
// under a mutex, "hold MS" has another goroutine compute for so long while it holds that, and answers
// once it does, "leak N" begins goroutines that never end, "quit" ends the program.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

var mutex sync.Mutex
var never = make(chan int)
var sum uint64

func compute(long time.Duration, held chan bool) {
	mutex.Lock()
	held <- true
	for begin := time.Now(); time.Since(begin) < long; {
		for i := uint64(0); i < 1000; i++ {
			sum += i * i
		}
	}
	mutex.Unlock()
}

func leak() {
	<-never
}

func answer(word string, number int) string {
	switch word {
	case "get":
		mutex.Lock()
		defer mutex.Unlock()
		return fmt.Sprint(sum)
	case "hold":
		held := make(chan bool)
		go compute(time.Duration(number)*time.Millisecond, held)
		<-held
	case "leak":
		for i := 0; i < number; i++ {
			go leak()
		}
	case "quit":
		os.Exit(0)
	}
	return "done"
}

func serve(connection net.Conn) {
	lines := bufio.NewScanner(connection)
	for lines.Scan() {
		var word string
		var number int
		fmt.Sscan(lines.Text(), &word, &number)
		fmt.Fprintln(connection, answer(word, number))
	}
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	for {
		connection, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		go serve(connection)
	}
}
