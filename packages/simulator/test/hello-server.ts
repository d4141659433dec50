import { afterEach, beforeEach } from "vitest";
import { VirtualDevice, type VirtualDeviceOptions } from "../src/index.ts";
import { ScriptedServer, type ServerConnection } from "./scripted-server.ts";

export interface HelloServer {
  /** The server of the running test. */
  readonly current: ScriptedServer;
  /** Creates a device for this server, which is stopped after the test. */
  make(options?: VirtualDeviceOptions): VirtualDevice;
  /** Connects the device and answers its hello. */
  welcomed(device: VirtualDevice): Promise<ServerConnection>;
}

/** Starts a server for each test of the calling file. */
export function useHelloServer(): HelloServer {
  let server: ScriptedServer | undefined;
  const devices: VirtualDevice[] = [];
  beforeEach(async () => {
    server = await ScriptedServer.start();
  });
  afterEach(async () => {
    for (const device of devices.splice(0)) await device.stop();
    await server?.stop();
  });
  return {
    get current() {
      if (server === undefined) throw new TypeError("no test is running");
      return server;
    },
    make(options = {}) {
      const device = new VirtualDevice({ ...options, url: options.url ?? this.current.url });
      devices.push(device);
      return device;
    },
    async welcomed(device) {
      const connected = device.connect();
      const connection = await this.current.connections.take();
      await connection.welcome();
      await connected;
      return connection;
    },
  };
}
