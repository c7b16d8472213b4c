// Words → features → code → nearest items, in the same steps as smfh/features/text.py, smfh/features/maps.py and
// smfh/retrieval/search.py. Features are in single precision where Python uses it; all else is in double precision.
const EPS = 1e-12, DECIMALS = 1e12, WEIGHT_SUM = 2 ** 30;
const single = Math.fround;

// The content is a length, a JSON header of this length, and the arrays that the header describes.
const TYPES = { f32: Float32Array, f64: Float64Array, u32: Uint32Array, u8: Uint8Array };

async function unpack(text) {
  const letters = atob(text.trim()), packed = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) packed[i] = letters.charCodeAt(i);
  const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(plain).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const content = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const array = ([type, offset, size]) => new TYPES[type](buffer, 4 + length + offset, size);
  content.arrays = Object.fromEntries(Object.entries(content.arrays).map(([name, at]) => [name, array(at)]));
  return content;
}

// Whether a character is in one of the ranges [first, last, first, last, …].
function within(ranges, character) {
  const point = character.codePointAt(0);
  let low = 0, high = ranges.length / 2;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranges[2 * middle + 1] < point) low = middle + 1; else high = middle;
  }
  return low < ranges.length / 2 && ranges[2 * low] <= point;
}

function makeReader({ spelling, letters, arrays }) {
  const runs = new RegExp(`[${spelling.unspaced}]+|[^${spelling.unspaced}]+`, "gu");
  const isUnspaced = new RegExp(`^[${spelling.unspaced}]`, "u");
  const isLetter = (c) => within(arrays.letters, c);

  function words(sentence) {
    const spelt = Array.from(sentence, (c) => (c in spelling.names ? ` ${spelling.names[c]} ` : c)).join("");
    const folded = Array.from(spelt.normalize("NFKC"), (c) => spelling.fold[c] ?? c).join("").normalize("NFKC");
    const spaced = Array.from(folded, (c) => (isLetter(c) || within(arrays.marks, c) ? c : " ")).join("");
    return spaced.split(" ").flatMap((word) => word.match(runs) ?? []).filter((run) => Array.from(run).some(isLetter));
  }

  function grams(word, length) {
    const characters = Array.from(word), found = [];
    for (let i = 0; i + length <= characters.length; i++) found.push(characters.slice(i, i + length).join(""));
    return found;
  }

  function spell(word, pieces = letters) {
    if (isUnspaced.test(word)) return [...grams(word, 1), ...grams(word, 2)];
    return [word, ...(pieces ? grams(` ${word} `, pieces).map((gram) => spelling.piece + gram) : [])];
  }

  return { words, spell };
}

// A sparse row: columns in ascending order, and their values.
function rowOf(csr, row) {
  const start = csr.starts[row], end = csr.starts[row + 1];
  return { columns: csr.columns.subarray(start, end), values: csr.values.subarray(start, end) };
}

function norm(values) {
  let squares = 0;
  for (const value of values) squares += value * value;
  return Math.sqrt(squares);
}

function makeHasher(content) {
  const { arrays, bits, items } = content;
  const csr = (name) => ({ starts: arrays[`${name}_starts`], columns: arrays[`${name}_columns`], values: arrays[`${name}_values`] });
  const source = csr("source"), target = csr("target"), anchors = csr("anchors");
  const column = new Map(content.tokens.map((token, k) => [token, k]));
  const reader = makeReader(content);
  const wordsOfCode = arrays.codes.length / items;

  // Return features x: counts of known tokens; if the encoder has weights, weighted and scaled to length 1.
  function features(sentence) {
    const counts = new Map();
    for (const word of reader.words(sentence))
      for (const token of reader.spell(word))
        if (column.has(token)) counts.set(column.get(token), (counts.get(column.get(token)) ?? 0) + 1);
    const columns = Uint32Array.from(counts.keys()).sort();
    const values = Float32Array.from(columns, (k) => counts.get(k));
    if (arrays.weights) {
      let squares = 0;
      values.forEach((value, k) => { values[k] = value * arrays.weights[columns[k]]; });
      for (const value of values) squares = single(squares + single(value * value));
      const factor = single(1 / Math.max(single(Math.sqrt(squares)), single(EPS)));
      values.forEach((value, k) => { values[k] = value * factor; });
    }
    return { columns, values };
  }

  // φ(x) W − thresholds
  function margins({ columns, values }) {
    const { power, unit_rows, width } = content.map;
    let scaled = Float64Array.from(values, (value) => (power === 1 ? value : Math.sign(value) * Math.abs(value) ** power));
    if (unit_rows) {
      const factor = 1 / Math.max(norm(scaled), EPS);
      scaled = scaled.map((value) => value * factor);
    }
    const result = Float64Array.from(arrays.thresholds, (threshold) => -threshold);
    const add = (weight, row) => {
      for (let k = 0; k < bits; k++) result[k] += weight * arrays.projection[row * bits + k];
    };
    if (!anchors.starts) {
      columns.forEach((row, k) => add(scaled[k], row));
      return result;
    }
    const x = new Float64Array(content.tokens.length), square = norm(scaled) ** 2;
    columns.forEach((place, k) => { x[place] = scaled[k]; });
    for (let a = 0; a < arrays.anchor_squares.length; a++) {
      const anchor = rowOf(anchors, a);
      let dot = 0;
      for (let k = 0; k < anchor.columns.length; k++) dot += x[anchor.columns[k]] * anchor.values[k];
      const distance = Math.max(-2 * dot + square + arrays.anchor_squares[a], 0);
      add(Math.exp(distance * (-0.5 / width ** 2)), a);
    }
    return result;
  }

  // Return the training items most similar to the query, with their cosines.
  function partners(query) {
    const x = new Float64Array(content.tokens.length), length = norm(query.values), found = [];
    query.columns.forEach((place, k) => { x[place] = query.values[k]; });
    for (let item = 0; item < items; item++) {
      const { columns, values } = rowOf(source, item);
      let dot = 0;
      for (let k = 0; k < columns.length; k++) dot += x[columns[k]] * values[k];
      const cosine = Math.round(DECIMALS * (dot / Math.max(arrays.source_norms[item] * length, EPS))) / DECIMALS;
      if (cosine > 0) found.push({ item, cosine });
    }
    return found.sort((a, b) => b.cosine - a.cosine || a.item - b.item).slice(0, content.partners);
  }

  // Return the margins of a query; a short one is combined with similar texts: t m(x) + (1 − t) Σ s² m(x_j) / Σ s².
  function marginsOf(query, near) {
    const own = margins(query);
    const t = Math.min(1, query.columns.length / content.usual_length) ** 2;
    if (t < 1 && near.length) {
      const combined = new Float64Array(bits);
      let total = 0;
      for (const { item, cosine } of near) {
        const margin = margins(rowOf(source, item)), weight = cosine ** 2;
        total += weight;
        for (let k = 0; k < bits; k++) combined[k] += weight * margin[k];
      }
      for (let k = 0; k < bits; k++) own[k] = t * own[k] + (1 - t) * combined[k] / total;
    }
    return own;
  }

  // Return the weights of bits: whole numbers with the sum 2³⁰, in proportion to |margin|; null for Hamming distance.
  function weightsOf(margins) {
    if (content.distance === "hamming") return null;
    const total = margins.reduce((sum, margin) => sum + Math.abs(margin), 0);
    return Array.from(margins, (margin) => (total ? Math.round(WEIGHT_SUM * (Math.abs(margin) / total)) : 0));
  }

  // Return √x / ‖√x‖ of an item in the modality that is searched.
  function unitRoots(item) {
    const { columns, values } = rowOf(target, item);
    const roots = Float64Array.from(values, (value) => Math.sign(value) * Math.sqrt(Math.abs(value)));
    const factor = 1 / Math.max(norm(roots), EPS);
    return { columns, values: roots.map((root) => root * factor) };
  }

  // Return the similarity of items to the query, z_i · Σ_j s_j² (z_j − z̄).
  function likeness(near, some) {
    const direction = new Float64Array(arrays.usual.length);
    for (const { item, cosine } of near) {
      const { columns, values } = unitRoots(item);
      for (let k = 0; k < direction.length; k++) direction[k] -= cosine ** 2 * arrays.usual[k];
      columns.forEach((place, k) => { direction[place] += cosine ** 2 * values[k]; });
    }
    return some.map((item) => {
      const { columns, values } = unitRoots(item);
      let sum = 0;
      for (let k = 0; k < columns.length; k++) sum += values[k] * direction[columns[k]];
      return Math.round(sum * DECIMALS);
    });
  }

  function codeOf(item) {
    const word = (k) => arrays.codes[item * wordsOfCode + (k >> 5)];
    return Array.from({ length: bits }, (_, k) => ((word(k) >>> (k & 31)) & 1) === 1);
  }

  // Return distances: the sum of the weights of the bits that differ or, without weights, their number.
  function distances(code, weights) {
    const packed = new Uint32Array(wordsOfCode), result = new Float64Array(items);
    code.forEach((on, k) => { if (on) packed[k >> 5] |= 1 << (k & 31); });
    for (let item = 0; item < items; item++)
      for (let w = 0; w < wordsOfCode; w++) {
        let differing = packed[w] ^ arrays.codes[item * wordsOfCode + w];
        for (; differing; differing &= differing - 1)
          result[item] += weights ? weights[32 * w + 31 - Math.clz32(differing & -differing)] : 1;
      }
    return weights ? result.map((sum) => sum * (bits / WEIGHT_SUM)) : result;
  }

  // Return the nearest items: by distance, then by similarity (if it is known), then in database order.
  function rank(code, weights, near) {
    const far = distances(code, weights), order = Array.from(far.keys()).sort((a, b) => far[a] - far[b] || a - b);
    let found = order.slice(0, content.most);
    if (near && target.starts) {
      const last = far[found[found.length - 1]];
      const tied = order.filter((item) => far[item] <= last).slice(0, content.most_tied);
      const alike = likeness(near, tied);
      const places = tied.map((_, place) => place);
      places.sort((a, b) => far[tied[a]] - far[tied[b]] || alike[b] - alike[a] || a - b);
      found = places.slice(0, content.most).map((place) => tied[place]);
    }
    const same = far.filter((distance) => distance === far[found[0]]).length;
    return { code, weights: weights?.map((weight) => weight * (bits / WEIGHT_SUM)), items: found, distances: found.map((item) => far[item]), same };
  }

  const flip = (code, flips) => code.map((on, k) => on !== flips.includes(k));

  // Return the results for words; null if none of them is known.
  function search(sentence, flips = []) {
    const query = features(sentence);
    if (!query.columns.length) return null;
    const near = partners(query), margins = marginsOf(query, near);
    return rank(flip(Array.from(margins, (margin) => margin > 0), flips), weightsOf(margins), near);
  }

  // Return the results for the code of an item, by Hamming distance, because a code has no margins.
  const searchItem = (item, flips = []) => rank(flip(codeOf(item), flips), null, null);

  // Return the words with the largest weights in an item's text.
  function tokensOf(item, most = 6) {
    const { columns, values } = rowOf(source, item);
    const order = Array.from(columns.keys()).sort((a, b) => values[b] - values[a] || a - b);
    return order.map((k) => content.tokens[columns[k]]).filter((token) => !token.startsWith(content.spelling.piece)).slice(0, most);
  }

  const knows = (word) => reader.spell(word, 0).some((token) => column.has(token));
  const unknown = (sentence) => [...new Set(reader.words(sentence))].filter((word) => !knows(word));
  return { search, searchItem, codeOf, tokensOf, unknown, words: reader.words };
}
