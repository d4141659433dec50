/** [MQT-5] Where a device is pushed to, subscribed or not. */
export function pushTopic(clientId: string): string {
  return `devices/p2p/${clientId}`;
}
