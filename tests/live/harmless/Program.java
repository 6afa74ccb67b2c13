// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Exceptions, a stack that overflows, null pointers, a pool of threads, and garbage. */
public class Program {
    static int deep(int depth) {
        if (depth == 0)
            throw new IllegalStateException("deep");
        return deep(depth - 1) + 1;
    }

    static int forever(int depth) {
        return forever(depth + 1) + 1;
    }

    public static void main(String[] arguments) throws Exception {
        int caught = 0;
        for (int depth = 0; depth < 2000; depth++) {
            try {
                deep(depth % 50);
            } catch (IllegalStateException error) {
                caught += error.getStackTrace().length - depth % 50;
            }
            try {
                String nothing = depth % 2 == 0 ? null : "some";
                caught += nothing.length();
            } catch (NullPointerException error) {
                caught++;
            }
        }
        boolean overflowed = false;
        try {
            forever(0);
        } catch (StackOverflowError error) {
            overflowed = true;
        }
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Long>> futures = new ArrayList<>();
        for (int number = 0; number < 20; number++) {
            final int mine = number;
            futures.add(pool.submit(() -> {
                long sum = 0;
                for (int k = 0; k < 20000; k++)
                    sum += new StringBuilder().append(k * mine).toString().hashCode();
                return sum;
            }));
        }
        long sum = 0;
        for (Future<Long> future : futures)
            sum += future.get();
        pool.shutdown();
        System.gc();
        System.out.println(caught + " " + overflowed + " " + sum);
    }
}
