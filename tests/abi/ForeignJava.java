// SPDX-License-Identifier: BSD-3-Clause
// A program for Open MPI's classes of Java: messages, types with gaps, reductions, operations in Java, files, and exceptions.
import java.nio.ByteBuffer;
import java.nio.IntBuffer;
import java.util.Arrays;
import mpi.*;

public class ForeignJava {
    static int rank, size;

    static void check(boolean holds, String what) {
        if (!holds) {
            System.out.println("rank " + rank + ": failed: " + what);
            System.exit(1);
        }
    }

    static void messages() throws MPIException {
        int right = (rank + 1) % size, left = (rank + size - 1) % size;
        int[] mine = {rank, 10 + rank, 20 + rank}, theirs = new int[3];
        Status s = MPI.COMM_WORLD.sendRecv(mine, 3, MPI.INT, right, 7, theirs, 3, MPI.INT, left, 7);
        check(Arrays.equals(theirs, new int[] {left, 10 + left, 20 + left}), "an array of ints " + Arrays.toString(theirs));
        check(s.getSource() == left && s.getTag() == 7 && s.getCount(MPI.INT) == 3, "a status");
        double[] large = new double[100000], got = new double[100000];
        Arrays.fill(large, rank + 0.5);
        if (rank % 2 == 0) {
            MPI.COMM_WORLD.send(large, large.length, MPI.DOUBLE, right, 8);
            MPI.COMM_WORLD.recv(got, got.length, MPI.DOUBLE, left, 8);
        } else {
            MPI.COMM_WORLD.recv(got, got.length, MPI.DOUBLE, left, 8);
            MPI.COMM_WORLD.send(large, large.length, MPI.DOUBLE, right, 8);
        }
        check(got[0] == left + 0.5 && got[99999] == left + 0.5, "an array that is larger than a kept buffer");
    }

    static void buffers() throws MPIException {
        int right = (rank + 1) % size, left = (rank + size - 1) % size;
        ByteBuffer from = MPI.newByteBuffer(64), to = MPI.newByteBuffer(64);
        from.putInt(60, 77 + rank);
        Request[] r = {MPI.COMM_WORLD.iRecv(to, 64, MPI.BYTE, left, 9), MPI.COMM_WORLD.iSend(from, 64, MPI.BYTE, right, 9)};
        Request.waitAll(r);
        check(to.getInt(60) == 77 + left, "a ByteBuffer");
        IntBuffer sum = MPI.newIntBuffer(1);
        sum.put(0, rank + 1);
        MPI.COMM_WORLD.iAllReduce(sum, 1, MPI.INT, MPI.SUM).waitFor(); // in place
        check(sum.get(0) == size * (size + 1) / 2, "iAllReduce");
    }

    // The bindings copy an array themselves, by what they read in the object of the type.
    static void gaps() throws MPIException {
        int right = (rank + 1) % size, left = (rank + size - 1) % size;
        Datatype vector = Datatype.createVector(3, 1, 2, MPI.INT);
        vector.commit();
        int[] a = {1 + rank, 0, 2 + rank, 0, 3 + rank, 0}, b = {-1, -1, -1, -1, -1, -1};
        MPI.COMM_WORLD.sendRecv(a, 1, vector, right, 1, b, 1, vector, left, 1);
        check(Arrays.equals(b, new int[] {1 + left, -1, 2 + left, -1, 3 + left, -1}), "a vector " + Arrays.toString(b));
        vector.free();
        // It begins at byte 16, which is bit 4 of a number of 16 bits.
        Datatype later = Datatype.createIndexed(new int[] {1, 1}, new int[] {4, 6}, MPI.INT);
        later.commit();
        check(later.getLb() == 4 && later.getExtent() == 3, "bounds, in ints");
        int[] c = {0, 0, 0, 0, 5 + rank, 0, 6 + rank}, d = {-1, -1, -1, -1, -1, -1, -1};
        MPI.COMM_WORLD.sendRecv(c, 1, later, right, 2, d, 1, later, left, 2);
        check(Arrays.equals(d, new int[] {-1, -1, -1, -1, 5 + left, -1, 6 + left}), "a type that begins later " + Arrays.toString(d));
        later.free();
        Datatype two = Datatype.createContiguous(2, MPI.INT);
        two.commit();
        int[] e = {rank, -rank, 9, 8}, f = new int[4];
        MPI.COMM_WORLD.sendRecv(e, 2, two, right, 3, f, 2, two, left, 3);
        check(Arrays.equals(f, new int[] {left, -left, 9, 8}), "pairs " + Arrays.toString(f));
        two.free();
    }

    static void reductions() throws MPIException {
        int[] in = {rank, 1}, out = new int[2];
        MPI.COMM_WORLD.allReduce(in, out, 2, MPI.INT, MPI.SUM);
        check(out[0] == size * (size - 1) / 2 && out[1] == size, "allReduce");
        double[] all = new double[size];
        MPI.COMM_WORLD.allGather(new double[] {rank * 1.5}, 1, MPI.DOUBLE, all, 1, MPI.DOUBLE);
        check(all[size - 1] == (size - 1) * 1.5, "allGather");
        Op largest = new Op(new UserFunction() {
            @Override public void call(Object a, Object b, int count, Datatype type) {
                int[] x = (int[])a, y = (int[])b;
                for (int i = 0; i < count; i++) {
                    y[i] = Math.max(x[i], y[i]);
                }
            }
        }, true);
        for (int round = 0; round < 100; round++) { // the object of Java must be known after the call that first used it
            int[] most = {rank * round, -rank}, best = new int[2];
            MPI.COMM_WORLD.allReduce(most, best, 2, MPI.INT, largest);
            check(best[0] == (size - 1) * round && best[1] == 0, "an operation in Java: " + Arrays.toString(best));
            if (round == 50) {
                System.gc();
            }
        }
        largest.free();
    }

    static void errors() throws MPIException {
        MPI.COMM_WORLD.setErrhandler(MPI.ERRORS_RETURN);
        try {
            MPI.COMM_WORLD.send(new int[1], 1, MPI.INT, size + 5, 0);
            check(false, "no exception");
        } catch (MPIException e) {
            check(e.getErrorClass() == MPI.ERR_RANK, "class " + e.getErrorClass() + " of " + e.getMessage());
            check(e.getMessage().contains(String.valueOf(size + 5)), "the text: " + e.getMessage());
        }
    }

    static void files(String path) throws MPIException {
        File f = new File(MPI.COMM_WORLD, path, MPI.MODE_CREATE | MPI.MODE_RDWR);
        f.writeAtAll(4 * rank, new int[] {100 + rank}, 1, MPI.INT);
        f.sync();
        MPI.COMM_WORLD.barrier();
        int[] all = new int[size];
        f.readAtAll(0, all, size, MPI.INT);
        check(all[0] == 100 && all[size - 1] == 99 + size, "a file " + Arrays.toString(all));
        f.close();
    }

    public static void main(String[] args) throws Exception {
        MPI.Init(args);
        rank = MPI.COMM_WORLD.getRank();
        size = MPI.COMM_WORLD.getSize();
        check(MPI.getLibVersion().contains("Pliant MPI"), "the library is " + MPI.getLibVersion());
        messages();
        buffers();
        gaps();
        reductions();
        errors();
        files(args[0]);
        MPI.COMM_WORLD.barrier();
        if (rank == 0) {
            System.out.println("all is well");
        }
        MPI.Finalize();
    }
}
