// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// Goroutines that take mutexes: mutexes COUNT SEED. Beside each mutex are a wait group and a lock of
// readers and writers, for which they wait as well. Prints a line for each goroutine, with its number
// and when it was started, and one for each mutex that was taken: the goroutine, the address of the
// mutex and of the lock beside it, when it was asked for and had, and between which times it was given back.
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

type shelf struct {
	mutex sync.Mutex
	group sync.WaitGroup
	rw    sync.RWMutex
}

type taken struct {
	number, shelf, length    int
	asked, had, gives, given int64
}

const each = 10

var shelves [3]*shelf
var quiet sync.WaitGroup

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

func take(t *taken) {
	s := shelves[t.shelf]
	t.asked = now()
	s.mutex.Lock()
	t.had = now()
	if t.length%2 == 0 {
		work(t.length)
	} else {
		time.Sleep(time.Duration(t.length) * time.Microsecond)
	}
	t.gives = now()
	s.mutex.Unlock()
	t.given = now()
}

func goroutine(all []taken, done chan bool) {
	for i := range all {
		take(&all[i])
		s := shelves[all[i].shelf]
		switch all[i].length % 5 {
		case 0:
			s.rw.Lock()
			work(50)
			s.rw.Unlock()
		case 1:
			s.rw.RLock()
			time.Sleep(50 * time.Microsecond)
			s.rw.RUnlock()
		case 2:
			s.group.Wait()
		}
	}
	quiet.Wait()
	done <- true
}

func main() {
	count, _ := strconv.Atoi(os.Args[1])
	seed, _ := strconv.Atoi(os.Args[2])
	r := rand.New(rand.NewSource(int64(seed)))
	for i := range shelves {
		shelves[i] = &shelf{}
		shelves[i].group.Add(1)
	}
	all := make([]taken, count)
	for i := range all {
		all[i] = taken{number: i / each, shelf: r.Intn(len(shelves)), length: r.Intn(300)}
	}
	done := make(chan bool)
	from, to := make([]int64, count/each), make([]int64, count/each)
	quiet.Add(1)
	for i := range from {
		mine := all[i*each : (i+1)*each]
		from[i] = now()
		go goroutine(mine, done)
		to[i] = now()
	}
	time.Sleep(5 * time.Millisecond)
	for i := range shelves {
		shelves[i].group.Done()
	}
	quiet.Done()
	for range from {
		<-done
	}
	time.Sleep(10 * time.Millisecond)
	for i := range from {
		fmt.Println("goroutine", i, from[i], to[i])
	}
	for i := range all {
		t := &all[i]
		fmt.Printf("mutex %d %p %p %d %d %d %d\n", t.number, &shelves[t.shelf].mutex, &shelves[t.shelf].rw, t.asked, t.had, t.gives, t.given)
	}
}
