// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

// Goroutines whose stacks grow, panics that are recovered from, maps and channels.
package main

import (
	"fmt"
	"sort"
	"strings"
	"sync"
)

//go:noinline
func deep(depth int, block [64]int) int {
	block[depth%64] = depth
	if depth == 0 {
		return block[0]
	}
	return deep(depth-1, block) + block[depth%64]
}

func recovered(depth int) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	if depth%3 == 0 {
		panic(depth)
	}
	var missing map[string]int
	missing["none"] = deep(depth, [64]int{})
	return ""
}

func main() {
	var group sync.WaitGroup
	sums := make(chan int, 100)
	for number := 0; number < 20; number++ {
		group.Add(1)
		go func(number int) {
			defer group.Done()
			sums <- deep(number*100, [64]int{})
		}(number)
	}
	group.Wait()
	close(sums)
	all := []int{}
	for sum := range sums {
		all = append(all, sum)
	}
	sort.Ints(all)
	texts := []string{}
	for depth := 0; depth < 5; depth++ {
		texts = append(texts, recovered(depth))
	}
	fmt.Println(all, strings.Join(texts, ", "))
}
