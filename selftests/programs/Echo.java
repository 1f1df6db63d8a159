// SPDX-License-Identifier: GPL-2.0
// Echo serve PORT: a thread for each connection; Echo select PORT: one thread and
// a selector.  Echo ask HOST PORT CLIENTS ROUNDS: each client sends random bytes,
// reads them back and compares; half of them as channels.  Prints the bytes.
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.Iterator;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;

public class Echo {
	static final int[] SIZES = { 1, 100, 1459, 8192, 70000, 300000 };

	static void serve(int port) throws IOException {
		try (ServerSocket listener = new ServerSocket(port, 200)) {
			while (true) {
				Socket s = listener.accept();
				new Thread(() -> {
					try (s) {
						byte[] b = new byte[65536];
						InputStream in = s.getInputStream();
						OutputStream out = s.getOutputStream();
						int n;
						while ((n = in.read(b)) > 0)
							out.write(b, 0, n);
						s.shutdownOutput();
					} catch (IOException e) {
						System.err.println("server: " + e);
					}
				}).start();
			}
		}
	}

	static void select(int port) throws IOException {
		Selector selector = Selector.open();
		ServerSocketChannel listener = ServerSocketChannel.open();

		listener.bind(new InetSocketAddress(port), 200);
		listener.configureBlocking(false);
		listener.register(selector, SelectionKey.OP_ACCEPT);
		while (true) {
			selector.select();
			for (Iterator<SelectionKey> i = selector.selectedKeys().iterator(); i.hasNext();) {
				SelectionKey key = i.next();
				i.remove();
				if (key.isAcceptable()) {
					SocketChannel s = listener.accept();
					if (s == null)
						continue;
					s.configureBlocking(false);
					s.register(selector, SelectionKey.OP_READ, ByteBuffer.allocateDirect(65536));
					continue;
				}
				echo(key);
			}
		}
	}

	// One buffer: reads while it is empty, writes until it is.
	static void echo(SelectionKey key) throws IOException {
		SocketChannel s = (SocketChannel) key.channel();
		ByteBuffer b = (ByteBuffer) key.attachment();

		if (key.isReadable()) {
			b.clear();
			if (s.read(b) < 0) {
				s.shutdownOutput();
				s.close();
				return;
			}
			b.flip();
		}
		s.write(b);
		key.interestOps(b.hasRemaining() ? SelectionKey.OP_WRITE : SelectionKey.OP_READ);
	}

	static long bySocket(InetSocketAddress to, int rounds, Random random) throws Exception {
		long moved = 0;

		try (Socket s = new Socket()) {
			s.setTcpNoDelay(true);
			s.setSoTimeout(60000);
			s.connect(to, 30000);
			DataInputStream in = new DataInputStream(s.getInputStream());
			for (int i = 0; i < rounds; i++) {
				byte[] sent = new byte[SIZES[i % SIZES.length]], got = new byte[sent.length];
				random.nextBytes(sent);
				// Both ways at once: the echo does not wait for the end.
				Thread writer = new Thread(() -> {
					try {
						s.getOutputStream().write(sent);
					} catch (IOException e) {
						System.err.println("writer: " + e);
					}
				});
				writer.start();
				in.readFully(got);
				writer.join();
				if (!Arrays.equals(sent, got))
					throw new IOException("round " + i + ": other bytes");
				moved += 2L * sent.length;
			}
			s.shutdownOutput();
			if (in.read() != -1)
				throw new IOException("bytes after the end");
		}
		return moved;
	}

	static long byChannel(InetSocketAddress to, int rounds, Random random) throws Exception {
		long moved = 0;

		try (SocketChannel s = SocketChannel.open(); Selector selector = Selector.open()) {
			s.configureBlocking(false);
			SelectionKey key = s.register(selector, SelectionKey.OP_CONNECT);
			if (!s.connect(to)) {
				while (!s.finishConnect())
					selector.select(60000);
			}
			for (int i = 0; i < rounds; i++) {
				byte[] bytes = new byte[SIZES[i % SIZES.length]];
				random.nextBytes(bytes);
				ByteBuffer out = ByteBuffer.wrap(bytes), in = ByteBuffer.allocate(bytes.length);
				while (in.hasRemaining()) {
					key.interestOps(SelectionKey.OP_READ | (out.hasRemaining() ? SelectionKey.OP_WRITE : 0));
					if (selector.select(60000) == 0)
						throw new IOException("round " + i + ": nothing for a minute");
					selector.selectedKeys().clear();
					s.write(out);
					if (s.read(in) < 0)
						throw new IOException("round " + i + ": the end");
				}
				if (!Arrays.equals(bytes, in.array()))
					throw new IOException("round " + i + ": other bytes");
				moved += 2L * bytes.length;
			}
		}
		return moved;
	}

	static void ask(String host, int port, int clients, int rounds) throws Exception {
		InetSocketAddress to = new InetSocketAddress(InetAddress.getByName(host), port);
		AtomicLong moved = new AtomicLong();
		Thread[] threads = new Thread[clients];
		AtomicLong failed = new AtomicLong();

		for (int n = 0; n < clients; n++) {
			int me = n;
			threads[n] = new Thread(() -> {
				try {
					Random random = new Random(me);
					moved.addAndGet(me % 2 == 0 ? bySocket(to, rounds, random) : byChannel(to, rounds, random));
				} catch (Exception e) {
					System.err.println("client " + me + ": " + e);
					failed.incrementAndGet();
				}
			});
			threads[n].start();
		}
		for (Thread t : threads)
			t.join();
		if (failed.get() > 0)
			System.exit(1);
		System.out.println(moved.get());
	}

	public static void main(String[] args) throws Exception {
		switch (args[0]) {
		case "serve" -> serve(Integer.parseInt(args[1]));
		case "select" -> select(Integer.parseInt(args[1]));
		default -> ask(args[1], Integer.parseInt(args[2]), Integer.parseInt(args[3]), Integer.parseInt(args[4]));
		}
	}
}
