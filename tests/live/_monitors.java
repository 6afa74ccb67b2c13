// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Threads of a JVM that wait for each other by monitors: one is blocked on a monitor that a
// sleeper holds, one listens by Object.wait(timeout) in a loop until a sleeper tells it, and
// one ticks by such a loop, and does something each time. Prints a line for each wait: what,
// the waiter's tid, that of who it waited for, and the moments at which it began and ended.
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

class Monitors {
	static final int LAPS = 3, TICKS = 20;
	static final Object held = new Object(), news = new Object();
	static volatile int tid, begun;
	static boolean told;

	interface Work {
		void run() throws Exception;
	}

	static int self() throws Exception {
		Path name = Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName();
		return Integer.parseInt(name.toString());
	}

	static Thread start(String name, Work work) {
		Thread thread = new Thread(() -> {
			try {
				work.run();
			} catch (Exception error) {
				throw new RuntimeException(error);
			}
		}, name);
		thread.start();
		return thread;
	}

	static void say(String what, int self, int other, long from) {
		System.out.println(what + " " + self + " " + other + " " + from + " " + System.nanoTime());
	}

	static void monitor() throws Exception {
		begun = 0;
		Thread holder = start("holder", () -> {
			synchronized (held) {
				tid = self();
				begun = 1;
				Thread.sleep(300);
			}
		});
		while (begun == 0)
			Thread.sleep(1);
		Thread blocked = start("blocked", () -> {
			int self = self();
			long from = System.nanoTime();

			synchronized (held) {
				say("monitor", self, tid, from);
			}
		});
		holder.join();
		blocked.join();
	}

	static void listen() throws Exception {
		begun = 0;
		told = false;
		Thread teller = start("teller", () -> {
			tid = self();
			begun = 1;
			Thread.sleep(300);
			synchronized (news) {
				told = true;
				news.notify();
			}
		});
		while (begun == 0)
			Thread.sleep(1);
		Thread listener = start("listener", () -> {
			int self = self();

			synchronized (news) {
				long from = System.nanoTime();

				while (!told)
					news.wait(40);
				say("listen", self, tid, from);
			}
		});
		teller.join();
		listener.join();
	}

	static void tick() throws Exception {
		Path log = Files.createTempFile("clew-ticks", "");
		Thread ticker = start("ticker", () -> {
			int self = self();

			synchronized (news) {
				long from = System.nanoTime();

				for (int i = 0; i < TICKS; i++) {
					news.wait(10);
					Files.writeString(log, "tick\n", StandardOpenOption.APPEND);
				}
				say("ticks", self, 0, from);
			}
		});
		ticker.join();
		Files.delete(log);
	}

	public static void main(String[] arguments) throws Exception {
		for (int lap = 0; lap < LAPS; lap++) {
			monitor();
			listen();
		}
		tick();
	}
}
