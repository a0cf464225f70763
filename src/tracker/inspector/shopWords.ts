/*
 * How shops name what can be tracked: texts of buttons in the languages of Europe and a few others, and words in the
 * addresses, names and classes of forms. All are guesses, and the panel says so.
 */

const either = (...words: string[]): RegExp => RegExp(words.join('|'), 'iu')

/** "Add to cart", as a text. */
export const CART_TEXT = either(
  'add to (my |your )?(cart|bag|basket|trolley)',
  'in den (warenkorb|einkaufswagen|korb)',
  'ajouter (au|à mon) panier',
  '(añadir|agregar) (al|a la) (carrito|cesta|bolsa)',
  'aggiungi al carrello',
  '(in|toevoegen aan)( mijn)? (winkelwagen|winkelmand)',
  'dodaj do koszyka|do koszyka',
  'adaug[aă] [iî]n co[sșş]',
  'adicionar ao carrinho|adicionar à sacola',
  'kosárba',
  '(přidat |vložit )?do košíku',
  '(pridať |vložiť )?do košíka',
  'lägg i (varukorg|kundvagn)',
  'l[æe]gg? i (indkøbs|handle)?(kurv|vogn)',
  'lisää (ostos)?koriin',
  'προσθήκη στο καλάθι',
  'добав\\p{L}* в (корзин|количк)|в корзину',
  'sepete ekle',
  'カートに(入れる|追加)',
  '加入购物车|加入購物車',
)
/** "Add to cart", in a name, class or address. The cart alone is not enough: links to it and its own buttons have that. */
export const CART_NAME =
  /add[-_]?to[-_]?(cart|bag|basket)|(cart|basket)[-_/]add|panier[-_/]ajout|in[-_]?(den[-_]?)?warenkorb|warenkorb[-_/](add|hinzu)|do[-_]?koszyka|koszyk[-_/](add|dodaj)|(aggiungi|add)[-_]?(al[-_]?)?carrello|carrello[-_/](add|aggiungi)|(a[nñ]adir|agregar)[-_]?(al[-_]?)?carrito|carrito[-_/](add|a[nñ]adir|agregar)/i
/** A button of a product whose variation must be chosen on its page first. */
export const CHOICE_NAME = /product[-_]type[-_](variable|grouped|external)/i

export const WISHLIST_TEXT = either(
  'wish ?list',
  'merkzettel|wunschliste|wunschzettel',
  'liste d.envies|(à|aux) (mes )?(souhaits|favoris)',
  'lista (dei|de|di) (desideri|deseos|desejos|dorin[tțţ]e)|desideri|deseos',
  'verlanglijst',
  '(lista )?życzeń|do ulubionych',
  'kívánságlist',
  'oblíben|obľúben',
  'önskelist|ønskeli?st|toivelista',
  'favou?rites?|favoritos|preferiti|favoriten|favorite',
  'избранн',
)
export const WISHLIST_NAME = /wish[-_]?list|favou?rite|merkzettel|ulubione/i

/** The whole text of a button that leads to the checkout. */
export const CHECKOUT_TEXT = RegExp(
  `^\\W*(${[
    '(proceed to |go to |continue to |secure )?check ?out( now)?',
    'zur kasse( gehen)?',
    '(passer|valider) (la |ma |à la )?(commande|caisse)|valider (mon|le) panier',
    '(tramitar|finalizar|realizar) (el )?(pedido|compra)|pagar',
    '(procedi|vai) (con l.ordine|all.ordine|al checkout|alla cassa)',
    'afrekenen|naar de kassa|verder naar bestellen',
    '(przejdź )?do kasy|realizuj zamówienie',
    'finaliz(are|eaz[aă]) comanda|spre finalizare|trimite comanda',
    '(tovább a )?(pénztárhoz|fizetéshez)|megrendelés',
    '(k|do) (pokladn[eěiy]|objednávk[eěy])',
    'till kassan|til kassen|gå til (kassen|betaling)|kassalle',
    'оформить заказ',
    'ödemeye geç',
  ].join('|')})\\W*$`,
  'iu',
)
/** The address of the checkout. Pages below it, such as its terms, are others. */
export const CHECKOUT_LINK =
  /^([\w.:]*\/\/[^/?#]*)?(\/[\w-]+){0,3}\/?(check[-_]?out|kasse|kassa|caisse|cassa|pokladna|onepage)(\.\w+)?\/?([?#]|$)|[?&]route=checkout\/checkout\b/i
/** The checkout, in the names or the address of a form. */
export const CHECKOUT_NAME =
  /check[-_]?out(?![-\w]*(field|summary|step))|\/(kasse|kassa|caisse|cassa|pokladna|onepage)\b/i

/** A form that ends a newsletter. */
export const UNSUBSCRIBE =
  /un-?subscri|abbestell|abmeld|désabonn|desabonn|désinscri|disiscriv|afmeld|uitschrij/i

/** A form for a newsletter, in its names or its texts. */
export const NEWSLETTER = either(
  'news-?letter|mailing.?list|subscri',
  'rundbrief|abonn',
  'inscri|iscriv|suscri|subscrev',
  'nieuwsbrief|nyhe[td]sbrev|uutiskirje|hírlev|biuletyn|newslet',
  'odb[eě]r|odober|zpravodaj',
  'aboneaz|рассылк|bülten',
)

/** Names of the text field of a search form. */
export const SEARCH_FIELD_NAME =
  /^(q|s|k|w|query|search|search[-_]?(query|term|text|word|key)?s?|keywords?|term|text|filter_name|sword|suche|recherche|controller_search)$/i
/** A search, in the address or the names of a form. */
export const SEARCH_NAME =
  /search|such(e|en)\b|recherche|buscar|busca\b|ricerca|cerca\b|zoek|szukaj|wyszuk|caut[aă]|keres|hled|vyhlad|sök|søg|поиск/i

/** Fields that are sent with an e-mail address, by what their names contain. */
export const PERSON: readonly (readonly [attribute: string, name: RegExp])[] = [
  [
    'firstname',
    /first[-_]?name|fname|given[-_]?name|vorname|prenom|prénom|voornaam|^nombre$|^nome$|^prenume$|imie/i,
  ],
  [
    'lastname',
    /last[-_]?name|lname|surname|family[-_]?name|nachname|^nom$|achternaam|apellido|cognome|sobrenome|nazwisko|^nume$/i,
  ],
  ['phone', /phone|telefon|telephone|^tel$|mobile/i],
]
