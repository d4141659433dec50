/** The same request for many devices, a few at a time, with an outcome for each. */
import type { Device } from "@tendon/protocol";
import { useEffect, useRef, useState } from "react";

interface Outcome {
  readonly device: Device;
  /** Why it failed. */
  readonly error?: unknown;
}

const atOnce = 6;

export interface Each {
  readonly state: "idle" | "running" | "done";
  readonly outcomes: readonly Outcome[];
  readonly total: number;
  readonly start: (devices: readonly Device[]) => void;
}

export function useEach(work: (device: Device) => Promise<unknown>, onDone: () => void): Each {
  const [state, setState] = useState<Each["state"]>("idle");
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>([]);
  const [total, setTotal] = useState(0);
  const gone = useRef(false);
  useEffect(() => {
    gone.current = false;
    return () => {
      gone.current = true;
    };
  }, []);
  const start = (devices: readonly Device[]) => {
    setState("running");
    setTotal(devices.length);
    setOutcomes([]);
    const waiting = [...devices];
    const worker = async () => {
      for (let device = waiting.shift(); device !== undefined; device = waiting.shift()) {
        const outcome = await outcomeOf(device, work);
        if (gone.current) return;
        setOutcomes((before) => [...before, outcome]);
      }
    };
    void Promise.all(Array.from({ length: atOnce }, worker)).then(() => {
      onDone();
      if (!gone.current) setState("done");
    });
  };
  return { state, outcomes, total, start };
}

async function outcomeOf(device: Device, work: (device: Device) => Promise<unknown>): Promise<Outcome> {
  try {
    await work(device);
    return { device };
  } catch (error) {
    return { device, error };
  }
}
