// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Panics that are caught, threads, channels, and sorts that panic.
use std::panic;
use std::sync::mpsc;
use std::thread;

struct Counted<'a>(&'a mut u32);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        *self.0 += 1;
    }
}

#[inline(never)]
fn deep(depth: u32, dropped: &mut u32) -> u32 {
    let counted = Counted(dropped);
    if depth == 0 {
        panic!("deep");
    }
    deep(depth - 1, counted.0) + 1
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let mut dropped = 0;
    let mut caught = 0;
    for depth in 0..30 {
        let result = panic::catch_unwind(panic::AssertUnwindSafe(|| deep(depth, &mut dropped)));
        caught += result.is_err() as u32;
        let mut values: Vec<u64> = (0..200).map(|k| k * 7919 % 97).collect();
        let sorted = panic::catch_unwind(panic::AssertUnwindSafe(|| {
            let mut times = 0;
            values.sort_by(|a, b| {
                times += 1;
                if times % 211 == 0 {
                    panic!("sort");
                }
                a.cmp(b)
            });
        }));
        caught += sorted.is_err() as u32;
    }
    let (send, receive) = mpsc::channel();
    for number in 0..4u64 {
        let send = send.clone();
        thread::spawn(move || {
            for k in 0..100 {
                send.send(number * k).unwrap();
            }
        });
    }
    drop(send);
    let sum: u64 = receive.iter().sum();
    let failed = thread::spawn(|| panic!("thread")).join().is_err();
    println!("dropped {dropped}, caught {caught}, sum {sum}, failed {failed}");
}
