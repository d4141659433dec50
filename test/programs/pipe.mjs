// A program whose output is whatever comes over TCP from the port in its argument, and whose input goes there.
import net from "node:net";

const socket = net.connect(Number(process.argv[2]), "127.0.0.1");
socket.pipe(process.stdout);
process.stdin.pipe(socket);
socket.on("error", () => process.exit(1));
socket.on("close", () => process.exit(0));
process.stdout.on("error", () => process.exit(0));
