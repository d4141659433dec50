import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { generate, type IConnectPacket, type Packet, parser } from "mqtt-packet";
import { Inbox } from "../../../test/inbox.ts";

export const udpSettings = {
  key: "00112233445566778899aabbccddeeff",
  nonce: "01000000000000000000000000000000",
};

/** The connection of one device, from the broker's side. */
export class BrokerConnection {
  readonly socket: Socket;
  readonly connect: IConnectPacket;
  readonly texts = new Inbox<string>("text");
  readonly topics: string[] = [];
  readonly subscriptions: string[] = [];
  readonly acknowledged = new Inbox<number>("acknowledgement");
  readonly pings = new Inbox<true>("ping");
  /** How texts are shown; latin1 shows bytes that are not UTF-8. */
  encoding: "utf8" | "latin1" = "utf8";
  /** Whether the device sent a DISCONNECT. */
  readonly closed: Promise<"disconnect" | "cut">;
  #left = false;
  #marks = 0;

  constructor(socket: Socket, connect: IConnectPacket) {
    this.socket = socket;
    this.connect = connect;
    this.closed = new Promise((resolve) => {
      socket.on("close", () => resolve(this.#left ? "disconnect" : "cut"));
    });
  }

  receive(packet: Packet): void {
    switch (packet.cmd) {
      case "publish":
        this.topics.push(packet.topic);
        this.texts.put(Buffer.from(packet.payload).toString(this.encoding));
        break;
      case "puback":
        this.acknowledged.put(packet.messageId ?? 0);
        break;
      case "pingreq":
        this.pings.put(true);
        this.write({ cmd: "pingresp" });
        break;
      case "subscribe":
        this.subscriptions.push(...packet.subscriptions.map(({ topic }) => topic));
        this.write({ cmd: "suback", messageId: packet.messageId ?? 0, granted: [0] });
        break;
      case "disconnect":
        this.#left = true;
        this.socket.end();
        break;
      default:
        throw new TypeError(`a device does not send ${packet.cmd}`);
    }
  }

  write(packet: Packet): void {
    this.socket.write(generate(packet));
  }

  send(message: unknown, topic = "devices/p2p/x"): void {
    const payload =
      typeof message === "string" || Buffer.isBuffer(message) ? message : JSON.stringify(message);
    this.write({ cmd: "publish", topic, payload, qos: 0, dup: false, retain: false });
  }

  mcp(payload: Readonly<Record<string, unknown>>): void {
    this.send({ session_id: "s", type: "mcp", payload: { jsonrpc: "2.0", ...payload } });
  }

  hello(port: number, sessionId = "s"): void {
    const udp = { server: "127.0.0.1", port, ...udpSettings };
    this.send({ type: "hello", transport: "udp", session_id: sessionId, udp });
  }

  /** Resolves when the device has read everything sent so far and has sent its immediate replies. */
  async quiet(): Promise<void> {
    // Twice, because the device acknowledges a message when it reads it, before its main loop runs.
    for (let round = 0; round < 2; round += 1) {
      this.#marks += 1;
      const messageId = this.#marks;
      this.write({
        cmd: "publish",
        topic: "mark",
        payload: "mark",
        qos: 1,
        messageId,
        dup: false,
        retain: false,
      });
      while ((await this.acknowledged.take()) !== messageId);
    }
  }

  async json<T = Record<string, unknown>>(): Promise<T> {
    return JSON.parse(await this.texts.take()) as T;
  }
}

interface BrokerScript {
  /** The CONNACK's return code; undefined: the broker never answers. */
  readonly verdict?: (connect: IConnectPacket) => number | undefined;
  readonly tls?: TlsOptions;
}

/** A broker on a free loopback port that delivers to every client without subscriptions. */
export class ScriptedBroker {
  readonly connections = new Inbox<BrokerConnection>("connection");
  readonly everyone: BrokerConnection[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #script: BrokerScript;

  private constructor(server: Server, script: BrokerScript) {
    this.#server = server;
    this.#script = script;
    server.on(script.tls === undefined ? "connection" : "secureConnection", (socket: Socket) =>
      this.#serve(socket),
    );
  }

  static async start(script: BrokerScript = {}): Promise<ScriptedBroker> {
    const server = script.tls === undefined ? createServer() : createTlsServer(script.tls);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new ScriptedBroker(server, script);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get settings() {
    return {
      endpoint: `127.0.0.1:${this.port}`,
      client_id: "GID_test@@@02_00_00_00_00_01@@@03142536-4758-497a-8b9c-adbecfe0f102",
      username: "user",
      password: "secret",
      publish_topic: "device-server",
    };
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket.setNoDelay(true));
    socket.on("close", () => this.#sockets.delete(socket));
    socket.on("error", () => undefined);
    const reader = parser({ protocolVersion: 4 });
    let connection: BrokerConnection | undefined;
    reader.on("packet", (packet: Packet) => {
      if (connection !== undefined) connection.receive(packet);
      else if (packet.cmd === "connect") connection = this.#admit(socket, packet);
    });
    socket.on("data", (data) => reader.parse(data));
  }

  #admit(socket: Socket, connect: IConnectPacket): BrokerConnection {
    const connection = new BrokerConnection(socket, connect);
    this.everyone.push(connection);
    const verdict = this.#script.verdict === undefined ? 0 : this.#script.verdict(connect);
    if (verdict !== undefined) {
      connection.write({ cmd: "connack", returnCode: verdict, sessionPresent: false });
      if (verdict === 0) this.connections.put(connection);
      else socket.end();
    }
    return connection;
  }
}
