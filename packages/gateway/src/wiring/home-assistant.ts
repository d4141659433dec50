/** Connects the devices with Home Assistant's broker, if one is configured. */
import fs from "node:fs";
import type { HomeAssistantView } from "@tendon/protocol";
import { cleanTopics, HomeAssistant } from "../agent/agent.ts";
import { loadBrokerClient, loadCleanRetained, loadExamineBroker } from "../broker/broker.ts";
import type { Config } from "../config/config.ts";
import { messageOf, StartError } from "../errors.ts";
import { version } from "../version.ts";
import type { Foundation, Started } from "./foundation.ts";
import type { Modules } from "./modules.ts";

const nothing = { devices: 0, entities: 0, mqttVersion: null, seenAt: null } as const;

/** Without user and password. */
export function homeAssistantView(
  { homeAssistant }: Config,
  state: HomeAssistant["state"] | undefined,
): HomeAssistantView {
  const broker = homeAssistant === undefined ? null : new URL(homeAssistant.broker).host;
  if (broker === null) return { state: "off", detail: null, broker, ...nothing };
  const starting = { state: "connecting", detail: null, ...nothing } as const;
  return { ...(state ?? starting), broker };
}

const maxPacketBytes = 1_048_576;

export async function openHomeAssistant(
  config: Config,
  { clock, events, log, run, node, store }: Foundation,
  { services, tokens, authentication, firmware }: Modules,
  url: () => string,
  started: Started,
): Promise<HomeAssistant | undefined> {
  const settings = config.homeAssistant;
  if (settings === undefined) return undefined;
  const { BrokerClient } = await loadBrokerClient();
  const password = readPassword(settings.passwordFile);
  const opened = new HomeAssistant({
    settings,
    clock,
    events,
    services,
    tokens,
    run,
    name: node,
    version,
    url,
    report(state, detail) {
      const level = state === "rejected" ? "debug" : state === "connected" ? "info" : "warn";
      log[level]({ state, detail }, "Home Assistant");
    },
    spend: (principal) => authentication.spend(principal),
    latestFirmware: (device) => firmware.latestFor(device),
    serialOf: async (id) => (await store.imports.get(id))?.serial,
    connect: (will, listener) =>
      new BrokerClient(
        {
          clock,
          random: Math.random,
          url: settings.broker,
          password,
          will,
          clientId: `tendon-${run}`,
          maximumPacketSize: maxPacketBytes,
        },
        listener,
      ),
  });
  started.push(() => opened.stop());
  return opened;
}

/** Removes everything that Tendon has published for Home Assistant on a broker. Returns the topics. */
export async function cleanHomeAssistant(settings: {
  readonly broker: string;
  readonly passwordFile?: string | undefined;
  readonly discoveryPrefix?: string | undefined;
}): Promise<string[]> {
  const { cleanRetained } = await loadCleanRetained();
  const { broker: url, passwordFile, discoveryPrefix = "homeassistant" } = settings;
  return await cleanRetained({ url, password: readPassword(passwordFile), ...cleanTopics(discoveryPrefix) });
}

/** Whether the broker accepts the gateway, and the version of MQTT it speaks. */
export async function examineHomeAssistant(settings: NonNullable<Config["homeAssistant"]>) {
  const { examineBroker } = await loadExamineBroker();
  return await examineBroker(settings.broker, readPassword(settings.passwordFile));
}

function readPassword(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    return fs.readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new StartError(`\`homeAssistant.passwordFile\` cannot be read: ${messageOf(error)}`);
  }
}
