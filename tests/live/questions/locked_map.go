// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A client of an HTTP server whose handlers share a mutex: one of them holds it while it syncs a
// file. Usage: locked_map DIRECTORY
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

var mutex sync.Mutex

func now() int64 {
	var at syscall.Timespec

	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&at)), 0)
	return at.Nano()
}

func get(address, path string) {
	answer, err := http.Get("http://" + address + path)
	if err != nil {
		panic(err)
	}
	io.ReadAll(answer.Body)
	answer.Body.Close()
}

func ask(address string) {
	os.WriteFile("/proc/self/comm", []byte("goclient"), 0)
	get(address, "/fast")
	go get(address, "/snapshot")
	time.Sleep(50 * time.Millisecond)
	begin := now()
	get(address, "/fast")
	fmt.Printf("{\"comm\": \"goclient\", \"from\": %d, \"to\": %d}\n", begin, now())
}

func snapshot(path string) {
	file, err := os.Create(path)
	if err != nil {
		panic(err)
	}
	bytes := make([]byte, 1<<20)
	mutex.Lock()
	for end := now() + 400e6; now() < end; file.Seek(0, 0) {
		file.Write(bytes)
		file.Sync()
	}
	mutex.Unlock()
	file.Close()
}

func main() {
	if len(os.Args) > 2 {
		ask(os.Args[2])
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	http.HandleFunc("/fast", func(answer http.ResponseWriter, _ *http.Request) {
		mutex.Lock()
		mutex.Unlock()
		answer.Write([]byte("ok"))
	})
	http.HandleFunc("/snapshot", func(answer http.ResponseWriter, _ *http.Request) {
		snapshot(filepath.Join(os.Args[1], "snapshot"))
		answer.Write([]byte("ok"))
	})
	go http.Serve(listener, nil)
	client, err := os.StartProcess("/proc/self/exe",
		[]string{"goclient", os.Args[1], listener.Addr().String()},
		&os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr}})
	if err != nil {
		panic(err)
	}
	client.Wait()
}
