/** `tendon home-assistant clean` and the doctor's check of Home Assistant's broker, with a real Mosquitto. */
import { once } from "node:events";
import net from "node:net";
import { connectAsync } from "mqtt";
import { expect, it, onTestFinished } from "vitest";
import { Mosquitto } from "../../../test/mosquitto.ts";
import { run, temporaryFolder } from "./run-tendon.ts";

const password = "the-gateways-password";
const anyPorts = { TENDON_HTTP_PORT: "0", TENDON_MQTT_PORT: "0" };

async function openBroker(): Promise<Mosquitto> {
  return await Mosquitto.start({ tendon: password, ha: "ha-password" }, "guides/home-assistant.md");
}

function folder(): string {
  const made = temporaryFolder();
  onTestFinished(() => made.remove());
  return made.path;
}

/** The port of the same broker for clients of MQTT 3.1.1 only: others get CONNACK 1. */
async function withoutVersion5(broker: Mosquitto): Promise<number> {
  const front = net.createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", (connect: Buffer) => {
      // The level follows the name of the protocol.
      if (connect[connect.indexOf("MQTT") + 4] === 5) {
        socket.end(Buffer.from([0x20, 2, 0, 1]));
        return;
      }
      const behind = net.connect(broker.port, "127.0.0.1");
      behind.on("error", () => undefined);
      behind.write(connect);
      socket.pipe(behind).pipe(socket);
    });
  });
  front.listen(0, "127.0.0.1");
  await once(front, "listening");
  onTestFinished(() => {
    front.close();
  });
  const address = front.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

it("`home-assistant clean` removes what Tendon has retained on the broker, and nothing else", async () => {
  const broker = await openBroker();
  const client = await connectAsync(broker.url("ha", "ha-password"), { reconnectPeriod: 0 });
  onTestFinished(() => {
    client.end(true);
  });
  const retain = { qos: 1, retain: true } as const;
  const ours = "homeassistant/device/tendon_020000000001/config";
  const state = "tendon/ha/020000000001/state";
  await client.publishAsync(ours, '{"origin":{"name":"Tendon"}}', retain);
  await client.publishAsync(state, "{}", retain);
  await client.publishAsync("homeassistant/device/other/config", '{"origin":{"name":"z2m"}}', retain);
  const cwd = folder();
  const url = broker.url("tendon", password);
  const clean = (...args: string[]) => run(["home-assistant", "clean", ...args], { cwd });

  const without = await clean();
  expect([without.code, without.stderr]).toEqual([2, expect.stringContaining("--broker mqtt://")]);
  const wrong = await clean("--broker", broker.url("tendon", "wrong-password"));
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining("Not authorized")]);
  expect(wrong.stderr).not.toContain("wrong-password");

  const first = await clean("--broker", url, "--json");
  expect([first.code, first.stderr]).toEqual([0, ""]);
  expect(JSON.parse(first.stdout)).toEqual({ removed: expect.arrayContaining([ours, state]) });
  const again = await clean("--broker", url);
  expect([again.stdout, again.stderr]).toEqual([expect.stringContaining("Nothing to remove"), ""]);
  const env = { TENDON_HOME_ASSISTANT_BROKER: url, TENDON_HOME_ASSISTANT_TOKEN: "home-assistant" };
  const early = await run(["home-assistant", "clean"], { cwd, env });
  expect([early.code, early.stderr]).toEqual([0, expect.stringContaining("still has `homeAssistant`")]);

  await client.publishAsync(state, "{}", retain);
  const old = url.replace(`:${broker.port}`, `:${await withoutVersion5(broker)}`);
  expect(JSON.parse((await clean("--broker", old, "--json")).stdout)).toEqual({ removed: [state] });
});

it("`doctor` signs in to Home Assistant's broker and reports its version, or why it failed", async () => {
  const broker = await openBroker();
  const diagnose = async (url: string) => {
    const env = {
      ...anyPorts,
      TENDON_HOME_ASSISTANT_BROKER: url,
      TENDON_HOME_ASSISTANT_TOKEN: "home-assistant",
    };
    const { stdout } = await run(["doctor", "--json"], { cwd: folder(), env });
    expect(stdout).not.toMatch(/wrong-password|gateways-password/);
    const { findings } = JSON.parse(stdout) as { findings: { check: string }[] };
    return findings.filter(({ check }) => check === "home assistant");
  };
  expect(await diagnose(broker.url("tendon", password))).toMatchObject([
    { state: "ok", message: `127.0.0.1:${broker.port} accepts the gateway, MQTT 5` },
  ]);
  const old = await withoutVersion5(broker);
  expect(await diagnose(broker.url("tendon", password).replace(`:${broker.port}`, `:${old}`))).toMatchObject([
    { state: "failed", message: `the broker at 127.0.0.1:${old} speaks MQTT 3.1.1 only` },
  ]);
  expect(await diagnose(broker.url("tendon", "a-wrong-password"))).toMatchObject([
    { state: "failed", message: expect.stringContaining("Not authorized") },
  ]);
});
