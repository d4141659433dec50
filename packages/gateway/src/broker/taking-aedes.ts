import { Aedes, type PublishPacket } from "aedes";

/** The topic of what has been taken already: nobody's. */
export const taken = "$taken";

/** What clients publish is taken before the broker sees it, and goes no further: there is nobody to look for. */
export class TakingAedes extends Aedes {
  override publish(packet: PublishPacket, ...rest: unknown[]): void {
    // The broker's types leave out the client, which it hands in itself.
    const publish = super.publish as (...given: unknown[]) => void;
    if (packet.topic === taken) (rest.at(-1) as () => void)();
    else publish.call(this, packet, ...rest);
  }
}
