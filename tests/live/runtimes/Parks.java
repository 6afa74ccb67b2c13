// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// Threads that park, and what became of each: Parks COUNT SEED. A thread is let go on by the main
// thread or by another one, has been already, or its time is over. Between them threads want one
// monitor, and the garbage is collected. It begins when it has read a line. Prints for each item its
// number, shape, the parking thread, when it parked and went on, who let it go on, and when; a line
// for each monitor that a thread waited for, and one for each collection.
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;

class Parks {
	static final int THREADS = 4;
	static final Object monitor = new Object();
	static volatile boolean held;
	static final List<String> log = Collections.synchronizedList(new ArrayList<>());

	/** A thread that does one thing at a time. */
	static class Worker extends Thread {
		volatile Runnable task;
		volatile boolean stopped;

		Worker(String name) {
			super(name);
			start();
		}

		void give(Runnable next) {
			while (task != null)
				Parks.nap();
			task = next;
		}

		void finish() {
			while (task != null)
				Parks.nap();
		}

		@Override
		public void run() {
			while (!stopped) {
				Runnable next = task;
				if (next == null) {
					Parks.nap();
					continue;
				}
				next.run();
				task = null;
			}
		}
	}

	/** Without parking. */
	static void nap() {
		try {
			Thread.sleep(0, 50_000);
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	static void parked(Worker waiter) {
		Thread.State state;
		do {
			nap();
			state = waiter.getState();
		} while (state != Thread.State.WAITING);
	}

	static void unpark(Worker waiter, long[] times) {
		times[2] = System.nanoTime();
		LockSupport.unpark(waiter);
		times[3] = System.nanoTime();
	}

	static void item(int number, int shape, Worker waiter, Worker other, int length) {
		final long[] times = new long[4];
		String by = "-";

		if (shape == 2)
			unpark(waiter, times);
		waiter.give(() -> {
			times[0] = System.nanoTime();
			if (shape == 3)
				LockSupport.parkNanos(monitor, length * 1000L + 1);
			else
				LockSupport.park(monitor);
			times[1] = System.nanoTime();
		});
		if (shape == 0) {
			parked(waiter);
			unpark(waiter, times);
			by = "main";
		} else if (shape == 1) {
			other.give(() -> {
				parked(waiter);
				unpark(waiter, times);
			});
			other.finish();
			by = other.getName();
		}
		waiter.finish();
		log.add("park " + number + " " + shape + " " + waiter.getName() + " " + times[0] + " " + times[1]
			+ " " + by + " " + times[2] + " " + times[3]);
	}

	/** A thread waits for the monitor that another one has. */
	static void contend(Worker waiter, Worker owner) {
		final long[] times = new long[4];

		owner.give(() -> {
			synchronized (monitor) {
				held = true;
				while (waiter.getState() != Thread.State.BLOCKED)
					nap();
				times[2] = System.nanoTime();
			}
			times[3] = System.nanoTime();
		});
		while (!held)
			nap();
		waiter.give(() -> {
			times[0] = System.nanoTime();
			synchronized (monitor) {
				times[1] = System.nanoTime();
			}
		});
		waiter.finish();
		owner.finish();
		held = false;
		log.add("monitor " + waiter.getName() + " " + times[0] + " " + times[1] + " " + owner.getName()
			+ " " + times[2] + " " + times[3]);
	}

	public static void main(String[] arguments) throws Exception {
		int count = Integer.parseInt(arguments[0]);
		Random random = new Random(Integer.parseInt(arguments[1]));
		Worker[] workers = new Worker[THREADS];

		System.in.read();
		for (int i = 0; i < THREADS; i++)
			workers[i] = new Worker("worker-" + i);
		for (int i = 0; i < count; i++) {
			int one = random.nextInt(THREADS), shape = random.nextInt(4);
			item(i, shape, workers[one], workers[(one + 1) % THREADS], random.nextInt(500));
			if (i % 20 == 0)
				contend(workers[one], workers[(one + 1) % THREADS]);
			if (i % 50 == 0) {
				long from = System.nanoTime();
				System.gc();
				log.add("gc " + from + " " + System.nanoTime());
			}
		}
		for (Worker worker : workers) {
			worker.stopped = true;
			worker.join();
		}
		for (String line : log)
			System.out.println(line);
	}
}
