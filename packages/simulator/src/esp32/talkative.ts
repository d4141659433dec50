import type { VirtualDevice } from "./virtual-device.ts";

/**
 * Makes a device ask the same question again and again, with a pause after each answer: a person with little to say.
 * Where no conversation can be had it tries again after the next pause. The returned function ends it.
 */
export function keepTalking(device: VirtualDevice, pauseMs: number): () => void {
  let over = false;
  const talk = async (): Promise<void> => {
    while (!over) {
      // Never comes back after a power cut, which begins another life below.
      await device.sleep(pauseMs);
      if (over || !device.connected || device.phase === "speaking") continue;
      try {
        if (!device.audioOpen || device.phase === "idle") await device.openAudio();
        await device.speak();
      } catch {
        // It has said so itself, as an event.
      }
    }
  };
  void talk();
  const off = device.on("reboot", () => void talk());
  return () => {
    over = true;
    off();
  };
}
