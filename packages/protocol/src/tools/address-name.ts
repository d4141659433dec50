const words = /(?:^|[^a-z])(?:ur[il]|href|webhook)|ur[il]s?(?:$|[^a-z])/;

/** Whether an argument's name says that it is an address [ACC-5]. */
export function isAddressName(name: string): boolean {
  return words.test(name.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase());
}
