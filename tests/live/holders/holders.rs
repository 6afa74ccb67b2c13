// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// holders KIND THREADS MILLISECONDS: as holders.c, with the locks of Rust's library: mutex, rwlock;
// condition, a Mutex and a Condvar, which is no lock.
use std::sync::{Arc, Condvar, Mutex, RwLock};
use std::thread;
use std::time::Duration;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
    fn gettid() -> i32;
}

const HOLD: u64 = 200_000;
const THINK: u64 = 60_000;

fn now() -> u64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    unsafe { clock_gettime(1, &mut time) };
    time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64
}

fn spin(ns: u64) {
    let until = now() + ns;
    while now() < until {}
}

struct Shared {
    kind: String,
    mutex: Mutex<bool>,
    condition: Condvar,
    rwlock: RwLock<u64>,
}

/// When it called for the lock, had it, released it, was done with that, and whether it was alone.
type Hold = (u64, u64, u64, u64, bool);

fn hold_for(ns: u64) -> (u64, u64) {
    let has = now();
    spin(ns);
    (has, now())
}

fn once(shared: &Shared, ns: u64, alone: bool) -> Hold {
    let calls = now();
    let (has, releases) = match (shared.kind.as_str(), alone) {
        ("rwlock", true) => {
            let _guard = shared.rwlock.write().unwrap();
            hold_for(ns)
        }
        ("rwlock", false) => {
            let _guard = shared.rwlock.read().unwrap();
            hold_for(ns)
        }
        ("condition", _) => {
            let mut busy = shared.mutex.lock().unwrap();
            while *busy {
                busy = shared.condition.wait(busy).unwrap();
            }
            *busy = true;
            drop(busy);
            let times = hold_for(ns);
            *shared.mutex.lock().unwrap() = false;
            shared.condition.notify_one();
            times
        }
        _ => {
            let _guard = shared.mutex.lock().unwrap();
            hold_for(ns)
        }
    };
    (calls, has, releases, now(), alone || shared.kind != "rwlock")
}

fn contend(shared: &Shared, seed: u64, ends: u64) -> (i32, Vec<Hold>) {
    let mut state = seed * 7919 + 13;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut holds = vec![];
    while now() < ends {
        let alone = random() % 3 == 0;
        holds.push(once(shared, random() % HOLD, alone));
        spin(random() % THINK);
        if random() % 16 == 0 {
            thread::sleep(Duration::from_micros(300));
        }
    }
    (unsafe { gettid() }, holds)
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let threads: u64 = words[2].parse().unwrap();
    let ends = now() + words[3].parse::<u64>().unwrap() * 1_000_000;
    let shared = Arc::new(Shared {
        kind: words[1].clone(),
        mutex: Mutex::new(false),
        condition: Condvar::new(),
        rwlock: RwLock::new(0),
    });
    let begin = &shared.condition as *const Condvar as u64;
    println!("word {} {}", begin, begin + std::mem::size_of::<Condvar>() as u64);
    let mut started = vec![];
    for i in 0..threads {
        let shared = shared.clone();
        started.push(thread::spawn(move || contend(&shared, i, ends)));
    }
    for one in started {
        let (tid, holds) = one.join().unwrap();
        for (calls, has, releases, done, alone) in holds {
            println!("{} {} {} {} {} {}", tid, calls, has, releases, done, alone as u8);
        }
    }
}
