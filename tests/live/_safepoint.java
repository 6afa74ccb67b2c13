// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A thread of a JVM copies a large array again and again, and does not stop within a copy. The
// main thread asks for collections, each of which stops all threads first. Prints a line for each:
// the main thread's tid, that of the copier, and the moments at which the collection began and
// ended.
import java.nio.file.Files;
import java.nio.file.Path;

class Safepoint {
	static final int LAPS = 6, BYTES = 200000000;
	static volatile int copier;
	static volatile boolean over;

	static int self() throws Exception {
		Path name = Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName();
		return Integer.parseInt(name.toString());
	}

	static void copy() {
		byte[] bytes = new byte[BYTES];

		try {
			copier = self();
		} catch (Exception error) {
			throw new RuntimeException(error);
		}
		while (!over)
			System.arraycopy(bytes, 0, bytes, 64, BYTES - 64);
	}

	public static void main(String[] arguments) throws Exception {
		int self = self();
		Thread thread = new Thread(Safepoint::copy, "copier");

		thread.start();
		while (copier == 0)
			Thread.sleep(1);
		for (int lap = 0; lap < LAPS; lap++) {
			Thread.sleep(40);
			long from = System.nanoTime();
			System.gc();
			System.out.println("lap " + self + " " + copier + " " + from + " " + System.nanoTime());
		}
		over = true;
		thread.join();
	}
}
