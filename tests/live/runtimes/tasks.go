// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// Goroutines of random shape: tasks COUNT SEED. Each waits for its turn on a channel, works, sleeps,
// takes a mutex or calls the kernel, and tells its starter; some start others. Prints for each its id,
// its starter's, when it was started, when its function began and ended, and how often and for how
// long it waited on its channel.
package main

import (
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

type item struct {
	id, parent           int
	shape, length        int
	from, to, began, end int64
	waited, resumed      int64
	by                   int
	gate                 chan int
	done                 chan bool
	child                *item
}

var starting sync.Mutex
var shared sync.Mutex

// Without the scheduler, so that the goroutine stays where it is.
func now() int64 {
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&t)), 0)
	return t.Sec*1000000000 + t.Nsec
}

func work(length int) {
	for until := now() + int64(length)*1000; now() < until; {
	}
}

func task(i *item) {
	i.began = now()
	i.waited = now()
	i.by = <-i.gate
	i.resumed = now()
	switch i.shape {
	case 0:
		work(i.length)
	case 1:
		time.Sleep(time.Duration(i.length) * time.Microsecond)
	case 2:
		shared.Lock()
		work(i.length)
		shared.Unlock()
	case 3:
		t := syscall.Timespec{Nsec: int64(i.length) * 1000}
		syscall.Nanosleep(&t, nil)
	}
	if i.child != nil {
		start(i.child, i.id)
		i.child.gate <- i.id
		<-i.child.done
	}
	i.end = now()
	i.done <- true
}

func start(i *item, parent int) {
	starting.Lock()
	i.parent = parent
	i.from = now()
	go task(i)
	i.to = now()
	starting.Unlock()
}

func main() {
	count, _ := strconv.Atoi(os.Args[1])
	seed, _ := strconv.Atoi(os.Args[2])
	r := rand.New(rand.NewSource(int64(seed)))
	items := make([]*item, count)
	for i := range items {
		items[i] = &item{id: i, shape: r.Intn(4), length: r.Intn(400),
			gate: make(chan int), done: make(chan bool)}
	}
	for i := 0; i < count; {
		var batch []*item
		for len(batch) < 5 && i < count {
			it := items[i]
			i++
			if i < count && r.Intn(4) == 0 {
				it.child = items[i]
				i++
			}
			start(it, -1)
			batch = append(batch, it)
		}
		time.Sleep(100 * time.Microsecond)
		for _, it := range batch {
			it.gate <- -1
		}
		for _, it := range batch {
			<-it.done
		}
	}
	time.Sleep(10 * time.Millisecond)
	for _, i := range items {
		fmt.Println(i.id, i.parent, i.from, i.to, i.began, i.waited, i.resumed, i.end)
	}
}
