/** The programs of the settings, run as devices. */
import type { Services } from "../agent/agent.ts";
import type { Clock } from "../clock.ts";
import { type Config, inheritedEnvironment } from "../config/config.ts";
import { type FrameLog, StdioDevice } from "../device/device.ts";
import type { Events } from "../events/events.ts";

export interface ProcessDevicesNeeds {
  readonly programs: Config["devices"]["stdio"];
  readonly clock: Clock;
  readonly events: Events;
  readonly services: Services;
  readonly queueLimit: number;
  readonly frames: FrameLog;
}

/** Starts them all; gives what stops them. */
export function startProcesses({ programs, services, ...needs }: ProcessDevicesNeeds) {
  const devices = programs.map((settings) => {
    services.fleet.expect(settings.alias, "process");
    return new StdioDevice(
      { protocol: "lines", restart: "always", args: [], env: {}, cwd: undefined, ...settings },
      {
        ...needs,
        owner: services.fleet.connections,
        random: Math.random,
        environment: inheritedEnvironment(),
      },
    );
  });
  for (const device of devices) device.start();
  return async () => {
    await Promise.all(devices.map((device) => device.stop()));
  };
}
