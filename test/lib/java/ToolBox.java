// SPDX-License-Identifier: Apache-2.0
// Castellan authors
// Runs Apache Kafka's command-line tools one after the other in one virtual machine, which saves each its start of a second.
// A request on standard input: int32 argument count, each as int32 size and UTF-8 bytes (the first is the main class), and the
// tool's standard input in the same form. The answer on standard output: int32 exit code, standard output, standard error.
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.common.utils.internals.Exit;

public class ToolBox {
    static class Exited extends Error {
        final int code;

        Exited(int code) {
            super(null, null, false, false);
            this.code = code;
        }
    }

    public static void main(String[] ignored) throws Exception {
        var requests = new DataInputStream(System.in);
        var answers = new DataOutputStream(System.out);
        Exit.setExitProcedure(ToolBox::exit);
        Exit.setHaltProcedure(ToolBox::exit);
        Exit.setShutdownHookAdder((name, hook) -> hooks.add(hook));
        while (true) {
            String[] words;
            try {
                words = new String[requests.readInt()];
            } catch (EOFException end) {
                System.exit(0);
                return;
            }
            for (int i = 0; i < words.length; i++) {
                words[i] = new String(readBytes(requests), StandardCharsets.UTF_8);
            }
            var in = new ByteArrayInputStream(readBytes(requests));
            var out = new ByteArrayOutputStream();
            var err = new ByteArrayOutputStream();
            System.setIn(in);
            System.setOut(new PrintStream(out, true));
            System.setErr(new PrintStream(err, true));
            int code = run(words);
            System.out.flush();
            answers.writeInt(code);
            writeBytes(answers, out.toByteArray());
            writeBytes(answers, err.toByteArray());
            answers.flush();
        }
    }

    static final List<Runnable> hooks = new ArrayList<>();
    static Exited first;  // what the tool asked for first; one that catches everything would ask again

    static void exit(int code, String message) {
        if (first == null) {
            if (message != null) {
                System.err.println(message);
            }
            first = new Exited(code);
        }
        throw first;
    }

    // On a thread of its own, as `java MAIN` does it: what escapes from main is printed, and the exit code is 1. The tool's
    // shutdown hooks run behind it (the console producer sends the last records in one).
    static int run(String[] words) throws InterruptedException {
        int[] code = {0};
        first = null;
        hooks.clear();
        Thread thread = new Thread(() -> {
            try {
                String[] arguments = Arrays.copyOfRange(words, 1, words.length);
                Class.forName(words[0]).getMethod("main", String[].class).invoke(null, (Object) arguments);
            } catch (InvocationTargetException wrapped) {
                code[0] = codeOf(wrapped.getCause());
            } catch (Throwable other) {
                code[0] = codeOf(other);
            }
        });
        thread.start();
        thread.join();
        hooks.forEach(Runnable::run);
        return first != null ? first.code : code[0];
    }

    static int codeOf(Throwable thrown) {
        for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
            if (cause instanceof Exited exited) {
                return exited.code;
            }
        }
        System.err.print("Exception in thread \"main\" ");
        thrown.printStackTrace();
        return 1;
    }

    static byte[] readBytes(DataInputStream in) throws IOException {
        return in.readNBytes(in.readInt());
    }

    static void writeBytes(DataOutputStream out, byte[] data) throws IOException {
        out.writeInt(data.length);
        out.write(data);
    }
}
