/** Firmware's half of the composition: the images, who is offered them, and where they are fetched. */
import type { FastifyInstance } from "fastify";
import type { Clock } from "../clock.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Config } from "../config/config.ts";
import type { Events } from "../events/events.ts";
import { Firmware, firmwarePath, firmwareRoutes } from "../firmware/firmware.ts";
import { FirmwareFiles, type Store } from "../store/store.ts";

export interface FirmwareNeeds {
  readonly config: Config;
  readonly dataFolder: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly events: Events;
  readonly secret: string;
  readonly cluster: Cluster | undefined;
  /** The gateway's address as devices are given it. */
  readonly address: () => string;
}

/** What nodes ask one another about images. */
const topic = "firmware";
const askMs = 3_000;

export type FirmwareLink = Awaited<ReturnType<typeof openFirmware>>;

export async function openFirmware({ config, dataFolder, address, cluster, ...needs }: FirmwareNeeds) {
  const { clock, events } = needs;
  const firmware = await Firmware.open({
    ...needs,
    files: new FirmwareFiles(dataFolder),
    others: cluster && {
      nodes: () => cluster.nodes().flatMap(({ instance: id }) => (id === cluster.instance ? [] : [id])),
      ask: (node, question) => cluster.rpc.askNode(node, topic, question, { timeoutMs: askMs }),
    },
    rules: config.firmware,
    base: () => `${address()}${firmwarePath}`,
  });
  const { library, rollout, copies } = firmware;
  cluster?.rpc.serveNode(topic, (question) => copies.answer(question));
  const unsubscribe = events.subscribe(({ type, device }) => {
    if (type === "device.online" && device !== undefined) rollout.connected(device);
  });
  return {
    library,
    offer: rollout.offer.bind(rollout),
    routes: (http: FastifyInstance) =>
      firmwareRoutes(http, { clock, open: (word, cut) => rollout.download(word, cut) }),
    async stop() {
      unsubscribe();
      await rollout.stop();
    },
  };
}
